/**
 * Decides whether a process that started an attempt still lives, by its connection: the operating system keeps it open
 * while the process exists, blocked or not. A process without a connection has some time to come back; after that it counts
 * as ended, because from here it looks the same.
 */
import { pause } from "../../lib/backoff.ts";
import type { ToolJob } from "../../ports/tool.ts";
import { type CallRecordEntry, runnerOf } from "../calls/call-store.ts";

export interface TakeoverOptions {
  runner: string;
  /** The names of all connections to Redis, as text. Rejects where Redis does not tell. */
  connectionNames: () => Promise<string[]>;
  graceMs: number;
}

export interface Takeover {
  /** For an attempt that does not run in this process. Never rejects. */
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
        // Redis does not tell. After this time the attempt has reached its timeout, wherever it runs.
        if (isThere === undefined) return Date.now() < entry.updatedAt + job.timeoutMs + graceMs;
        if (isThere) return true;
        // If the process lives after all, a second attempt does no harm.
        if (job.isIdempotent || look > looks || signal.aborted) return false;
        await pause(graceMs / looks, signal);
      }
    },
  };
}
