/** The search index's thread. After each scope, a long update checks for searches so that they need not wait. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";
import type { MemoryHit, MemoryQuery } from "../ports/memory.ts";
import { questionOf } from "./query.ts";
import { createRanking } from "./ranking.ts";
import { createSearchIndex, type SearchIndex } from "./search-index.ts";

export type SearchRequest =
  | { type: "find"; query: MemoryQuery; now: number }
  | { type: "count"; scopes: string[] }
  | { type: "refresh"; scopes?: string[] }
  | { type: "purge" }
  | { type: "close" };

export type SearchAnswer = { type: "hits"; hits: MemoryHit[] } | { type: "count"; count: number } | { type: "done" };

export type SearchReply =
  | { id: number; answer: SearchAnswer }
  | { id: number; error: string }
  | { id: undefined; problem: string };

export interface SearchWorkerData {
  workspace: string;
  indexFile: string;
  /** The folder of the process's compile cache, for search-thread.mjs. */
  cacheFolder: string | undefined;
}

if (parentPort !== null) serve(parentPort, workerData as SearchWorkerData);

function serve(port: NonNullable<typeof parentPort>, { workspace, indexFile }: SearchWorkerData): void {
  const reply = (message: SearchReply) => port.postMessage(message);
  const onProblem = (problem: string) => reply({ id: undefined, problem });
  const rank = createRanking();
  let index: SearchIndex | undefined;

  port.on("message", ({ id, request }: { id: number; request: SearchRequest }) => {
    void (async () => {
      try {
        index ??= createSearchIndex({ workspace, indexFile, onProblem });
        reply({ id, answer: await answer(index, request) });
      } catch (thrown) {
        reply({ id, error: messageOf(thrown) });
      }
    })();
  });

  /** Updates scopes. If that fails, the search uses their previous index. */
  function follow(open: SearchIndex, scopes: readonly string[]): void {
    try {
      open.update(scopes);
    } catch (thrown) {
      onProblem(`could not update the search index, so new entries may not be found (${messageOf(thrown)})`);
    }
  }

  async function answer(open: SearchIndex, request: SearchRequest): Promise<SearchAnswer> {
    switch (request.type) {
      case "find": {
        const { query, scopes, limit } = request.query;
        follow(open, scopes);
        return {
          type: "hits",
          hits: rank({ index: open, question: questionOf(query, request.now), scopes, limit, now: request.now }),
        };
      }
      case "count":
        open.update(request.scopes);
        return { type: "count", count: open.count(request.scopes) };
      case "refresh":
        for (const scope of request.scopes ?? open.scopes()) {
          open.update([scope]);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { type: "done" };
      case "purge":
        open.update(open.scopes());
        open.purge();
        return { type: "done" };
      case "close":
        open.close();
        port.close();
        return { type: "done" };
      default:
        return request satisfies never;
    }
  }
}
