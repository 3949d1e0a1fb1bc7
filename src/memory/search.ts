/**
 * Searches memory in the scopes that the question may see: what people said, what was done and what was noted. The
 * index's thread first follows changes on disk. A failed search returns no passages and logs the reason.
 * Brain name: cortex.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createWorkerThread } from "../lib/worker-thread.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import type { DocumentScan, WaitingDocument } from "./document-scan.ts";
import type { SearchAnswer, SearchRequest, SearchWorkerData } from "./search-worker.ts";

const maxHits = 200;
const maxScopes = 1_000;
/** Has room for one file of maximum size. */
const maxMegabytes = 256;

export interface Search {
  find(query: MemoryQuery): Promise<MemoryHit[]>;
  count(scopes: readonly string[]): Promise<number>;
  follow(scopes: readonly string[]): void;
  /** Starts the thread and updates the index of all scopes. Never rejects. */
  warmUp(): Promise<void>;
  /** Indexes changed documents. Rejects if the thread fails. */
  scanDocuments(): Promise<DocumentScan>;
  putPages(document: WaitingDocument, pages: string[]): Promise<void>;
  /** Call after removing files. Resolves when the index contains nothing of these files. */
  purge(): Promise<void>;
  close(): Promise<void>;
}

export interface SearchOptions {
  workspace: string;
  indexFile: string;
  log: Log;
  now?: () => number;
}

export function createSearch({ workspace, indexFile, log, now = Date.now }: SearchOptions): Search {
  const thread = createWorkerThread<SearchRequest, SearchAnswer>({
    name: "memory search",
    module: new URL("./search-worker.ts", import.meta.url),
    workerData: { workspace, indexFile } satisfies SearchWorkerData,
    maxMegabytes,
    onProblem: (problem) => log.warn({}, problem),
  });
  const { ask } = thread;
  let isClosed = false;
  const unfollowed = new Set<string>();
  let isFollowing = false;

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
    async scanDocuments() {
      const answer = await ask({ type: "documents" });
      return answer.type === "documents" ? answer.scan : { count: 0, waiting: [], problems: [] };
    },
    async putPages(document, pages) {
      await ask({ type: "pages", document, pages });
    },
    async purge() {
      await ask({ type: "purge" });
    },
    async close() {
      isClosed = true;
      await thread.close({ type: "close" });
    },
  };
}
