/** Limits partial texts of all replies together, and reading histories: Slack's limits apply to the entire workspace. */
import { elapsedSince } from "../../../lib/elapsed.ts";
import { callsPerMinute } from "../limits.ts";

export interface RateLimiter {
  /** Takes a slot and returns 0, or returns the milliseconds until a slot is free. */
  take(call: LimitedCall): number;
}

export type LimitedCall = "append" | "edit" | "start" | "session" | "history" | "replies";

/** Partial texts: somebody watches them, so the wait for the next one must never be long. */
const spread: ReadonlySet<LimitedCall> = new Set(["append", "edit", "start", "session"]);
/** The rest of Slack's limits is reserved for posts, final texts, cards and what running turns read. */
const maxCallsPerMinute: Record<LimitedCall, number> = {
  append: callsPerMinute.append - 15,
  edit: callsPerMinute.edit - 15,
  start: callsPerMinute.start - 6,
  session: callsPerMinute.session - 20,
  history: callsPerMinute.history - 10,
  replies: callsPerMinute.replies - 10,
};
const windowMs = 60_000;

export function createRateLimiter(now: () => number = Date.now): RateLimiter {
  const taken: Record<LimitedCall, number[]> = {
    append: [],
    edit: [],
    start: [],
    session: [],
    history: [],
    replies: [],
  };
  return {
    take(call) {
      const at = now();
      const recent = taken[call].filter((time) => elapsedSince(time, at) < windowMs);
      taken[call] = recent;
      const [oldest] = recent;
      const last = recent.at(-1);
      if (recent.length >= maxCallsPerMinute[call] && oldest !== undefined) return oldest + windowMs - at;
      // Once half of the slots are used, spread the calls.
      const due =
        last === undefined || !spread.has(call) || recent.length < maxCallsPerMinute[call] / 2
          ? at
          : last + windowMs / maxCallsPerMinute[call];
      if (due > at) return due - at;
      recent.push(at);
      return 0;
    },
  };
}
