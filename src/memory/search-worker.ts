/** The search index's thread. After each scope, a long update checks for searches so that they need not wait. */
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { ThreadReply } from "../lib/worker-thread.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import type { NoteSource } from "../ports/shown-context.ts";
import { createDigest } from "./digest.ts";
import {
  type BadDocuments,
  type DocumentScan,
  pagePassages,
  scanDocuments,
  type WaitingDocument,
} from "./document-scan.ts";
import type { EmbeddedThing } from "./embedding-health.ts";
import type { EmbeddingCounts, Meaning, Unembedded, UnembeddedQuery } from "./meaning.ts";
import { questionOf } from "./query.ts";
import { createRanking } from "./ranking.ts";
import { createSearchIndex, type SearchIndex } from "./search-index.ts";
import type { StoredVector } from "./vector-store.ts";

/** With embeddings only. */
export type EmbeddingRequest =
  | { type: "unembedded"; query: UnembeddedQuery; now: number }
  | { type: "store-vectors"; vectors: StoredVector[] }
  | { type: "embedding-problem"; what: EmbeddedThing; problem: string | undefined }
  | { type: "embedding-ended"; isComplete: boolean }
  | { type: "embedding-counts" };

export type SearchRequest =
  | EmbeddingRequest
  /** `vector` is the question's. If absent, search uses words only. */
  | { type: "find"; query: MemoryQuery; now: number; vector?: Float32Array }
  /** Counts episodes and notes. Without `scopes`, counts all passages as last indexed. */
  | { type: "count"; scopes?: string[] }
  | { type: "refresh"; scopes?: string[] }
  | { type: "digest"; scope: Scope }
  | { type: "known"; sources: readonly NoteSource[] }
  | { type: "documents" }
  | { type: "pages"; document: WaitingDocument; pages: string[] }
  | { type: "purge" }
  | { type: "close" };

export type SearchAnswer =
  /** `hasNew`: the index has grown since the last search. */
  | { type: "hits"; hits: MemoryHit[]; hasNew: boolean }
  | { type: "documents"; scan: DocumentScan }
  | { type: "count"; count: number }
  | { type: "digest"; digest: string }
  | { type: "known"; sources: NoteSource[] }
  | ({ type: "unembedded" } & Unembedded)
  | ({ type: "embedding-counts" } & EmbeddingCounts)
  | { type: "not-stored"; problem: string }
  | { type: "done" };

export interface SearchWorkerData {
  workspace: string;
  indexFile: string;
  /** Absent without embeddings. */
  vectors?: { file: string; model: string };
}

/** Maximum passages found only by meaning: each takes room in the prompt, and the last ones are rarely relevant. */
const maxMeant = 20;

const letOthersIn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Opened {
  index: SearchIndex;
  /** Without embeddings, or if their file is damaged, returns `otherwise`. Recreates a damaged file. */
  withMeaning<T>(work: (meaning: Meaning) => T, otherwise: T): T;
}

/** Called in the thread. */
export function serve(port: MessagePort, data: SearchWorkerData): void {
  const reply = (message: ThreadReply<SearchAnswer>) => port.postMessage(message);
  const onProblem = (problem: string) => reply({ id: undefined, problem });
  const rank = createRanking();
  const digestOf = createDigest(data.workspace);
  const bad: BadDocuments = new Map();
  let opened: Promise<Opened> | undefined;

  port.on("message", ({ id, request }: { id: number; request: SearchRequest }) => {
    void (async () => {
      try {
        opened ??= open(data, onProblem).catch((thrown) => {
          opened = undefined;
          throw thrown;
        });
        reply({ id, answer: await answer(await opened, request) });
      } catch (thrown) {
        reply({ id, error: messageOf(thrown) });
      }
    })();
  });

  /** Updates scopes, and returns whether there was anything new. If that fails, uses their previous index. */
  function follow(index: SearchIndex, scopes: readonly string[]): boolean {
    try {
      return index.update(scopes) > 0;
    } catch (thrown) {
      onProblem(`could not update the search index, so new entries may not be found (${messageOf(thrown)})`);
      return false;
    }
  }

  async function answer({ index, withMeaning }: Opened, request: SearchRequest): Promise<SearchAnswer> {
    switch (request.type) {
      case "find": {
        const { query, scopes, limit, isUnasked = false } = request.query;
        const hasNew = follow(index, scopes);
        const { vector } = request;
        const meant = vector === undefined ? [] : withMeaning((one) => one.nearest(vector, scopes, maxMeant), []);
        const question = questionOf(query, request.now);
        const hits = rank({ index, question, meant, scopes, limit, now: request.now, isUnasked });
        return { type: "hits", hits, hasNew };
      }
      case "count":
        if (request.scopes === undefined) return { type: "count", count: index.countPassages() };
        index.update(request.scopes);
        return { type: "count", count: index.countEntries(request.scopes) };
      case "digest":
        return { type: "digest", digest: digestOf(request.scope) };
      case "known":
        return { type: "known", sources: request.sources.filter(index.hasPassage) };
      case "refresh":
        for (const scope of request.scopes ?? index.scopes()) {
          index.update([scope]);
          await letOthersIn();
        }
        if (request.scopes === undefined) withMeaning((meaning) => meaning.collect(), undefined);
        return { type: "done" };
      case "documents": {
        const { workspace } = data;
        return { type: "documents", scan: await scanDocuments({ workspace, index, bad, pause: letOthersIn }) };
      }
      case "pages": {
        const { path, signature } = request.document;
        index.putDocument(path, signature, pagePassages(path, request.pages));
        return { type: "done" };
      }
      case "purge":
        index.update(index.scopes());
        index.purge();
        withMeaning((meaning) => meaning.collect(), undefined);
        return { type: "done" };
      case "close":
        index.close();
        withMeaning((meaning) => meaning.close(), undefined);
        return { type: "done" };
      default:
        return withMeaning((meaning) => answerEmbedding(meaning, request), { type: "done" });
    }
  }
}

/** Loads the code of embeddings only if they are on. */
async function open(data: SearchWorkerData, onProblem: (problem: string) => void): Promise<Opened> {
  const { workspace, indexFile, vectors } = data;
  if (vectors === undefined) {
    const index = createSearchIndex({ workspace, indexFile, onProblem });
    return { index, withMeaning: (_work, otherwise) => otherwise };
  }
  const [{ createMeaning }, { openVectorStore }, { isDamage, removeDatabase }] = await Promise.all([
    import("./meaning.ts"),
    import("./vector-store.ts"),
    import("../lib/index-database.ts"),
  ]);
  const { file, model } = vectors;
  let meaning: Meaning | undefined;
  let rebuilds = 0;
  const onRemoved = (keys: readonly string[]) => withMeaning((open) => open.removed(keys), undefined);
  const index = createSearchIndex({ workspace, indexFile, onProblem, onRemoved });
  const openMeaning = () => {
    const store = openVectorStore(file, model, onProblem);
    meaning = store === undefined ? undefined : createMeaning(index, store, rebuilds);
  };
  openMeaning();

  function withMeaning<T>(work: (meaning: Meaning) => T, otherwise: T): T {
    if (meaning === undefined) return otherwise;
    try {
      return work(meaning);
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
      onProblem(`the file of vectors was damaged, so Remora makes it again (${messageOf(thrown)})`);
      meaning.abandon();
      removeDatabase(file);
      rebuilds++;
      openMeaning();
      return otherwise;
    }
  }

  return { index, withMeaning };
}

function answerEmbedding(meaning: Meaning, request: EmbeddingRequest): SearchAnswer {
  switch (request.type) {
    case "unembedded":
      return { type: "unembedded", ...meaning.unembedded(request.query, request.now) };
    case "store-vectors": {
      const problem = meaning.store(request.vectors);
      return problem === undefined ? { type: "done" } : { type: "not-stored", problem };
    }
    case "embedding-problem":
      meaning.setProblem(request.what, request.problem);
      return { type: "done" };
    case "embedding-ended":
      meaning.finish(request.isComplete);
      return { type: "done" };
    case "embedding-counts":
      return { type: "embedding-counts", ...meaning.counts() };
    default:
      return request satisfies never;
  }
}
