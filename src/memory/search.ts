/**
 * Searches memory in the scopes that the question may see: what people said, what was done and what was noted. The
 * index's thread first follows changes on disk. It starts with the first request, does not keep the process alive, and
 * restarts if it dies. A failed search returns no passages and logs the reason. With embeddings, the question's vector
 * is requested first; if it is late, the search goes by words.
 * Brain name: cortex.
 */
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Embedder } from "../ports/embeddings.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import { createEmbeddingHealth, type EmbeddedThing } from "./embedding-health.ts";
import { createEmbeddingLoop, type EmbeddingTimes } from "./embedding-loop.ts";
import type { EmbeddingCounts } from "./meaning.ts";
import { createQuestionVectors } from "./question-vectors.ts";
import type { SearchAnswer, SearchReply, SearchRequest, SearchWorkerData } from "./search-worker.ts";

const maxHits = 200;
const maxScopes = 1_000;
/** A small young generation saves memory; the old generation has room for one file of maximum size. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 };

export interface Search {
  find(query: MemoryQuery): Promise<MemoryHit[]>;
  count(scopes: readonly string[]): Promise<number>;
  countAll(): Promise<number>;
  /** Undefined without embeddings. */
  embeddings(): Promise<EmbeddingStatus | undefined>;
  follow(scopes: readonly string[]): void;
  /** Starts the thread, updates the index of all scopes, and from then on embeds passages. Never rejects. */
  warmUp(): Promise<void>;
  /** Call after removing files. Resolves when the index contains nothing of these files. */
  purge(): Promise<void>;
  close(): Promise<void>;
}

interface Pending {
  resolve(answer: SearchAnswer): void;
  reject(reason: Error): void;
}

export interface EmbeddingOptions {
  embedder: Embedder;
  /** The file of vectors. All processes of a data folder share it. */
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
  log: Log;
  now?: () => number;
}

export function createSearch({ workspace, indexFile, embeddings, log, now = Date.now }: SearchOptions): Search {
  const pending = new Map<number, Pending>();
  let worker: Worker | undefined;
  let lastId = 0;
  let isClosed = false;
  const unfollowed = new Set<string>();
  let isFollowing = false;
  let isWarm = false;
  const meaning = embeddings === undefined ? undefined : createMeaningSearch(embeddings);

  function createMeaningSearch({ embedder, file, maxWaitMs, times }: EmbeddingOptions) {
    const healthOf = (what: EmbeddedThing) =>
      createEmbeddingHealth(what, embedder, log, (problem) => {
        if (!isClosed) ask({ type: "embedding-problem", what, problem }).catch(() => {});
      });
    const ended = new AbortController();
    const [passages, questions] = [healthOf("passages"), healthOf("questions")];
    return {
      embedder,
      vectors: { file, model: embedder.model },
      loop: createEmbeddingLoop({ embedder, health: passages, ask, now, ...(times === undefined ? {} : { times }) }),
      end: () => ended.abort(),
      vectorOf: createQuestionVectors({
        embedder,
        health: questions,
        now,
        ended: ended.signal,
        ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
      }),
    };
  }

  function wakeLoop(): void {
    if (isWarm) meaning?.loop.wake();
  }

  function start(): Worker {
    const vectors = meaning === undefined ? {} : { vectors: meaning.vectors };
    const workerData: SearchWorkerData = { workspace, indexFile, ...vectors, cacheFolder: getCompileCacheDir() };
    const started = new Worker(new URL("./search-thread.mjs", import.meta.url), {
      workerData,
      resourceLimits,
      execArgv: [],
      name: "memory search",
    });
    started.unref();
    started.on("message", (reply: SearchReply) => settle(started, reply));
    const fail = (reason: Error) => {
      if (worker === started) worker = undefined;
      for (const [id, { reject }] of pending) {
        pending.delete(id);
        reject(reason);
      }
    };
    started.on("error", fail);
    started.on("exit", () => fail(new Error("the search thread has ended")));
    return started;
  }

  function settle(from: Worker, reply: SearchReply): void {
    if (reply.id === undefined) {
      log.warn({}, reply.problem);
      return;
    }
    const waiting = pending.get(reply.id);
    pending.delete(reply.id);
    if (pending.size === 0) from.unref();
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.answer);
  }

  function ask(request: SearchRequest): Promise<SearchAnswer> {
    if (isClosed) return Promise.reject(new Error("memory is closed"));
    return new Promise((resolve, reject) => {
      worker ??= start();
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      // The thread keeps the process alive only while someone waits for an answer.
      worker.ref();
      worker.postMessage({ id, request });
    });
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
        const vector = isClosed ? undefined : await meaning?.vectorOf(query.query);
        const asked = { query: { query: query.query, scopes, limit }, ...(vector === undefined ? {} : { vector }) };
        const answer = await ask({ type: "find", ...asked, now: now() });
        if (answer.type !== "hits") return [];
        if (answer.hasNew) wakeLoop();
        return answer.hits;
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "could not search memory, so nothing was found");
        return [];
      }
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
    async purge() {
      await ask({ type: "purge" });
    },
    async close() {
      if (isClosed) return;
      meaning?.end();
      await meaning?.loop.close();
      const open = worker;
      if (open !== undefined) await ask({ type: "close" }).catch(() => {});
      isClosed = true;
      await open?.terminate();
    },
  };
}
