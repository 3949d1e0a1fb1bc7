/**
 * Whether a process that has begun an attempt still lives. It may not have answered for a while, because its event loop stood
 * still or Redis was away, and yet be about to end the attempt with a result.
 *
 * The evidence is its connection: the system closes it when the process ends, however it ends, and keeps it open as long as
 * there is a process, blocked or not. A process that lost it has some time to come back; one that can't reach Redis for
 * longer counts as ended, because from here it looks the same.
 */
import { pause } from "../../lib/backoff.ts";
import type { ToolJob } from "../../ports/tool.ts";
import { type CallRecordEntry, runnerOf } from "../calls/call-store.ts";

export interface TakeoverOptions {
  /** This process. */
  runner: string;
  /** The names of all connections that Redis has, as text; rejects where Redis does not say. */
  connectionNames: () => Promise<string[]>;
  /** How long a process may be without a connection, in milliseconds. */
  graceMs: number;
}

export interface Takeover {
  /** For an attempt that is not run in this process. Never rejects. */
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
        // Redis does not tell: by then the attempt has run into its time-out, wherever it runs.
        if (isThere === undefined) return Date.now() < entry.updatedAt + job.timeoutMs + graceMs;
        if (isThere) return true;
        // If it lives after all, a second attempt does no harm.
        if (job.isIdempotent || look > looks || signal.aborted) return false;
        await pause(graceMs / looks, signal);
      }
    },
  };
}
