/**
 * Searches memory in the scopes that the question may see: what people said, what was done and what was noted. Before
 * each search, the index's thread picks up changes on disk. The thread starts with the first request, does not keep the
 * process alive, and restarts if it dies. A failed search returns no passages and logs the reason.
 * Brain name: cortex.
 */
import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import type { SearchAnswer, SearchReply, SearchRequest, SearchWorkerData } from "./search-worker.ts";

const maxHits = 200;
const maxScopes = 1_000;
/** A small young generation saves memory; the old generation can hold one file of maximum size. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 };

export interface Search {
  find(query: MemoryQuery): Promise<MemoryHit[]>;
  count(scopes: readonly string[]): Promise<number>;
  follow(scopes: readonly string[]): void;
  /** Starts the thread and updates the index of all scopes. Never rejects. */
  warmUp(): Promise<void>;
  /** Call after removing files. Resolves when the index contains nothing of these files. */
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
        const answer = await ask({ type: "find", query: { query: query.query, scopes, limit }, now: now() });
        return answer.type === "hits" ? answer.hits : [];
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "could not search memory, so nothing was found");
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
        log.warn({ error: messageOf(thrown) }, "could not update the search index");
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
