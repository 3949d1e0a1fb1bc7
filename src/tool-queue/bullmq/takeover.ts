/**
 * Decides whether a process that started an attempt is still alive, by its connection to Redis. The operating system
 * keeps the connection open while the process exists, even if its event loop is blocked. Without a connection, a
 * process has some time to reconnect, and then counts as ended.
 */
import { pause } from "../../lib/backoff.ts";
import type { ToolJob } from "../../ports/tool.ts";
import { type CallRecordEntry, runnerOf } from "../calls/call-store.ts";

export interface TakeoverOptions {
  runner: string;
  /** Returns the names of all connections to Redis. Rejects if Redis does not permit the query. */
  connectionNames: () => Promise<string[]>;
  graceMs: number;
}

export interface Takeover {
  /** True if the attempt's process is alive. Call it only for attempts outside this process. Never rejects. */
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
        // A time that lies far in the future was noted before somebody set the clock back.
        if (isThere === undefined) return Math.abs(Date.now() - entry.updatedAt) < job.timeoutMs + graceMs;
        if (isThere) return true;
        // An idempotent tool needs no further checks: a second attempt does no harm.
        if (job.isIdempotent || look > looks || signal.aborted) return false;
        await pause(graceMs / looks, signal);
      }
    },
  };
}
