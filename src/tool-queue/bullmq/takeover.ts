/**
 * Decides whether a process that started an attempt still lives, by its connection to Redis: the operating system keeps
 * the connection open while the process exists, even if its event loop is blocked. A process without a connection has
 * some time to reconnect; after that it counts as ended, because the two can't be distinguished.
 */
import { pause } from "../../lib/backoff.ts";
import type { ToolJob } from "../../ports/tool.ts";
import { type CallRecordEntry, runnerOf } from "../calls/call-store.ts";

export interface TakeoverOptions {
  runner: string;
  /** The names of all connections to Redis, as text. Rejects if Redis does not permit the query. */
  connectionNames: () => Promise<string[]>;
  graceMs: number;
}

export interface Takeover {
  /**
   * True if the process that runs the attempt lives. Call it only for attempts that do not run in this process. Never
   * rejects.
   */
  isRunElsewhere(job: ToolJob, entry: CallRecordEntry, signal: AbortSignal): Promise<boolean>;
}

const looks = 5;

export function createTakeover({ runner, connectionNames, graceMs }: TakeoverOptions): Takeover {
  async function isConnected(name: string): Promise<boolean | undefined> {
    try {
      return (await connectionNames()).some((list) => list.includes(`:w:${name} `));
    } catch {
      return undefined;
    }
  }

  return {
    async isRunElsewhere(job, entry, signal) {
      const other = runnerOf(entry);
      if (other === undefined || other === runner) return false;
      for (let look = 1; ; look += 1) {
        const isThere = await isConnected(other);
        // Redis does not permit the query, so assume that the attempt runs until its timeout must have passed.
        if (isThere === undefined) return Date.now() < entry.updatedAt + job.timeoutMs + graceMs;
        if (isThere) return true;
        // An idempotent tool needs no further checks: a second attempt does no harm, even if the process still lives.
        if (job.isIdempotent || look > looks || signal.aborted) return false;
        await pause(graceMs / looks, signal);
      }
    },
  };
}
