/**
 * Searches memory in the scopes that the question may see: what people said, what was done and what was noted. The
 * index's thread first applies changes on disk. A failed search returns no passages and logs the reason. With
 * embeddings, the question's vector is requested first; if it is late, the search uses words only. Brain name: cortex.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createWorkerThread, type Thread } from "../lib/worker-thread.ts";
import type { Embedder, EmbeddingMeter } from "../ports/embeddings.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import type { NoteSource } from "../ports/shown-context.ts";
import type { DocumentScan, WaitingDocument } from "./document-scan.ts";
import { createEmbeddingHealth, type EmbeddedThing } from "./embedding-health.ts";
import { createEmbeddingLoop, type EmbeddingTimes } from "./embedding-loop.ts";
import type { EmbeddingCounts } from "./meaning.ts";
import { createQuestionVectors } from "./question-vectors.ts";
import type { SearchAnswer, SearchRequest, SearchWorkerData } from "./search-worker.ts";

const maxHits = 200;
const maxScopes = 1_000;

export interface Search {
  find(query: MemoryQuery): Promise<MemoryHit[]>;
  /** See `digest.ts`. Rejects if the thread fails. */
  digest(scope: Scope): Promise<string>;
  /** Returns those that the index has. */
  stillKnown(sources: readonly NoteSource[]): Promise<NoteSource[]>;
  /** Counts episodes and notes. */
  count(scopes: readonly string[]): Promise<number>;
  countAll(): Promise<number>;
  /** Undefined without embeddings. */
  embeddings(): Promise<EmbeddingStatus | undefined>;
  follow(scopes: readonly string[]): void;
  /** Starts the thread, updates the index of all scopes, and from then on embeds passages. Never rejects. */
  warmUp(): Promise<void>;
  /** Indexes changed documents. Rejects if the thread fails. */
  scanDocuments(): Promise<DocumentScan>;
  putPages(document: WaitingDocument, pages: string[]): Promise<void>;
  /** Call after removing files. Resolves when the index contains nothing of these files. */
  purge(): Promise<void>;
  close(): Promise<void>;
}

export interface EmbeddingOptions {
  embedder: Embedder;
  /** If absent, nothing is counted, and nothing is held back. */
  meter?: EmbeddingMeter;
  /** The vector file, shared by all processes that use the data folder. */
  file: string;
  /** How long a search waits for the question's vector. */
  maxWaitMs?: number;
  times?: Partial<EmbeddingTimes>;
}

export interface EmbeddingStatus extends EmbeddingCounts {
  model: string;
  /** Where texts are sent. */
  address: string;
}

export interface SearchOptions {
  workspace: string;
  indexFile: string;
  embeddings?: EmbeddingOptions;
  thread: Thread;
  log: Log;
  now?: () => number;
}

export function createSearch({ workspace, indexFile, embeddings, thread, log, now = Date.now }: SearchOptions): Search {
  let isClosed = false;
  const unfollowed = new Set<string>();
  let isFollowing = false;
  let isWarm = false;
  const vectors =
    embeddings === undefined ? {} : { vectors: { file: embeddings.file, model: embeddings.embedder.model } };
  const { ask, close } = createWorkerThread<SearchRequest, SearchAnswer>({
    thread,
    module: new URL("./search-worker.ts", import.meta.url),
    options: { workspace, indexFile, ...vectors } satisfies SearchWorkerData,
    onProblem: (problem) => log.warn({}, problem),
  });
  const meaning = embeddings === undefined ? undefined : createMeaningSearch(embeddings);

  function createMeaningSearch({ embedder, meter, maxWaitMs, times }: EmbeddingOptions) {
    const healthOf = (what: EmbeddedThing) =>
      createEmbeddingHealth(what, embedder, log, (problem) => {
        if (!isClosed) ask({ type: "embedding-problem", what, problem }).catch(() => {});
      });
    const ended = new AbortController();
    const [passages, questions] = [healthOf("passages"), healthOf("questions")];
    return {
      embedder,
      loop: createEmbeddingLoop({
        ...{ embedder, health: passages, ask, now },
        ...(times === undefined ? {} : { times }),
        ...(meter === undefined ? {} : { onTokens: meter.count }),
      }),
      end: () => ended.abort(),
      vectorOf: createQuestionVectors({
        embedder,
        health: questions,
        now,
        ended: ended.signal,
        ...(meter === undefined ? {} : { admit: meter.admit }),
        ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
      }),
    };
  }

  function wakeLoop(): void {
    if (isWarm) meaning?.loop.wake();
  }

  /** Combines requests that arrive during an update into one further update. */
  async function follow(): Promise<void> {
    isFollowing = true;
    try {
      while (unfollowed.size > 0) {
        const scopes = [...unfollowed];
        unfollowed.clear();
        await ask({ type: "refresh", scopes });
        wakeLoop();
      }
    } catch (thrown) {
      if (!isClosed) log.warn({ error: messageOf(thrown) }, "could not update the search index");
    } finally {
      isFollowing = false;
    }
  }

  return {
    async find(query) {
      const limit = Number.isNaN(query.limit) ? 0 : Math.min(Math.max(0, Math.floor(query.limit)), maxHits);
      const scopes = [...new Set(query.scopes)].slice(0, maxScopes);
      if (limit === 0 || scopes.length === 0) return [];
      try {
        const vector = isClosed ? undefined : await meaning?.vectorOf(query.query, query.payer);
        const { query: text, isUnasked } = query;
        const unasked = isUnasked === undefined ? {} : { isUnasked };
        const asked = {
          query: { query: text, scopes, limit, ...unasked },
          ...(vector === undefined ? {} : { vector }),
        };
        const answer = await ask({ type: "find", ...asked, now: now() });
        if (answer.type !== "hits") return [];
        if (answer.hasNew) wakeLoop();
        return answer.hits;
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "could not search memory, so nothing was found");
        return [];
      }
    },
    async digest(scope) {
      const answer = await ask({ type: "digest", scope });
      return answer.type === "digest" ? answer.digest : "";
    },
    async stillKnown(sources) {
      if (sources.length === 0) return [];
      const answer = await ask({ type: "known", sources });
      return answer.type === "known" ? answer.sources : [];
    },
    async count(scopes) {
      const answer = await ask({ type: "count", scopes: [...scopes] });
      return answer.type === "count" ? answer.count : 0;
    },
    async countAll() {
      await ask({ type: "refresh" });
      const answer = await ask({ type: "count" });
      return answer.type === "count" ? answer.count : 0;
    },
    async embeddings() {
      if (meaning === undefined) return undefined;
      await ask({ type: "refresh" });
      const answer = await ask({ type: "embedding-counts" });
      if (answer.type !== "embedding-counts") throw new Error("the file of vectors can't be used");
      const { passages, embedded, problem } = answer;
      const { model, address } = meaning.embedder;
      return { model, address, passages, embedded, problem };
    },
    follow(scopes) {
      for (const scope of scopes) unfollowed.add(scope);
      if (!isFollowing) void follow();
    },
    async warmUp() {
      await ask({ type: "refresh" }).catch((thrown) => {
        log.warn({ error: messageOf(thrown) }, "could not update the search index");
      });
      isWarm = true;
      wakeLoop();
    },
    async scanDocuments() {
      const answer = await ask({ type: "documents" });
      wakeLoop();
      return answer.type === "documents" ? answer.scan : { count: 0, waiting: [], problems: [] };
    },
    async putPages(document, pages) {
      await ask({ type: "pages", document, pages });
      wakeLoop();
    },
    async purge() {
      await ask({ type: "purge" });
    },
    async close() {
      if (isClosed) return;
      meaning?.end();
      await meaning?.loop.close();
      isClosed = true;
      await close({ type: "close" });
    },
  };
}
