/** Stops waiting for slow work; the work itself continues. */
import { pause } from "../../lib/backoff.ts";

export async function withTimeout<Result>(maxMs: number, work: Promise<Result>): Promise<Result | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([work, pause(maxMs, done.signal).then(() => undefined)]);
  } finally {
    done.abort();
  }
}
