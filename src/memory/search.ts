/**
 * Search over memory: what people said, what was done, what was noted, in the scopes that a question may see.
 *
 *   1. a question is handed to the index's own thread, which first follows what changed on disk
 *   2. it comes back as passages, best first
 *
 * The thread starts with the first request, keeps no process alive, and is started again if it dies. A question that
 * can't be answered finds nothing, and the log says why.
 * Brain name: cortex.
 */
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import type { SearchAnswer, SearchReply, SearchRequest, SearchWorkerData } from "./search-worker.ts";

const mostHits = 200;
const mostScopes = 1_000;
/** In MB. A small young generation keeps the thread small; the old one is what one file at the cap needs, and some more. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 };

export interface Search {
  find(query: MemoryQuery): Promise<MemoryHit[]>;
  count(scopes: readonly string[]): Promise<number>;
  /** Brings these scopes up to date in the background, so that the next question need not. */
  follow(scopes: readonly string[]): void;
  /** Starts the thread and brings everything up to date. Never rejects. */
  warmUp(): Promise<void>;
  /** After files were removed: resolves when the index holds nothing of them any more. */
  purge(): Promise<void>;
  close(): Promise<void>;
}

interface Pending {
  resolve(answer: SearchAnswer): void;
  reject(reason: Error): void;
}

export interface SearchOptions {
  workspace: string;
  indexFile: string;
  log: Log;
  now?: () => number;
}

export function createSearch({ workspace, indexFile, log, now = Date.now }: SearchOptions): Search {
  const pending = new Map<number, Pending>();
  let worker: Worker | undefined;
  let lastId = 0;
  let isClosed = false;
  const unfollowed = new Set<string>();
  let isFollowing = false;

  function start(): Worker {
    const workerData: SearchWorkerData = { workspace, indexFile, cacheFolder: getCompileCacheDir() };
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
      // Only while someone waits for an answer does the thread keep the process alive.
      worker.ref();
      worker.postMessage({ id, request });
    });
  }

  /** What was asked to follow while the thread was busy following is one request after it. */
  async function follow(): Promise<void> {
    isFollowing = true;
    try {
      while (unfollowed.size > 0) {
        const scopes = [...unfollowed];
        unfollowed.clear();
        await ask({ type: "refresh", scopes });
      }
    } catch (thrown) {
      if (!isClosed) log.warn({ error: messageOf(thrown) }, "the search index could not be brought up to date");
    } finally {
      isFollowing = false;
    }
  }

  return {
    async find(query) {
      const limit = Number.isNaN(query.limit) ? 0 : Math.min(Math.max(0, Math.floor(query.limit)), mostHits);
      const scopes = [...new Set(query.scopes)].slice(0, mostScopes);
      if (limit === 0 || scopes.length === 0) return [];
      try {
        const answer = await ask({ type: "find", query: { query: query.query, scopes, limit }, now: now() });
        return answer.type === "hits" ? answer.hits : [];
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "memory could not be searched, so nothing was found");
        return [];
      }
    },
    async count(scopes) {
      const answer = await ask({ type: "count", scopes: [...scopes] });
      return answer.type === "count" ? answer.count : 0;
    },
    follow(scopes) {
      for (const scope of scopes) unfollowed.add(scope);
      if (!isFollowing) void follow();
    },
    async warmUp() {
      await ask({ type: "refresh" }).catch((thrown) => {
        log.warn({ error: messageOf(thrown) }, "the search index could not be brought up to date");
      });
    },
    async purge() {
      await ask({ type: "purge" });
    },
    async close() {
      if (isClosed) return;
      const open = worker;
      if (open !== undefined) await ask({ type: "close" }).catch(() => {});
      isClosed = true;
      await open?.terminate();
    },
  };
}
