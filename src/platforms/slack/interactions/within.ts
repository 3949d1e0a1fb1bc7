/** What Slack waits for takes at most so long; the work itself goes on. */
import { pause } from "../../../lib/backoff.ts";

/** Slack waits three seconds for an answer, the way there and back included. */
export const answerWithinMs = 2_300;

/** Undefined when it takes longer. */
export async function within<Result>(ms: number, result: Promise<Result>): Promise<Result | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([result, pause(ms, done.signal).then(() => undefined)]);
  } finally {
    done.abort();
  }
}
