/**
 * How often the partial texts of all replies together may call Slack. Slack counts calls a minute over the whole workspace,
 * so replies share: each takes a slot before a partial text, and waits when there is none. What must be said (posts, final
 * texts, cards) takes none, and has the rest of Slack's allowance.
 */
import { callsPerMinute } from "../limits.ts";

export interface RateLimiter {
  /** Takes a slot; or how long until there is one, in milliseconds. */
  take(call: LimitedCall): number;
}

export type LimitedCall = "append" | "edit" | "start" | "status";

/** Calls a minute; the rest is for what must be said. */
const maxCallsPerMinute: Record<LimitedCall, number> = {
  append: callsPerMinute.append - 15,
  edit: callsPerMinute.edit - 15,
  start: callsPerMinute.start - 6,
  status: callsPerMinute.status / 2,
};
const windowMs = 60_000;

export function createRateLimiter(now: () => number = Date.now): RateLimiter {
  const taken: Record<LimitedCall, number[]> = { append: [], edit: [], start: [], status: [] };
  return {
    take(call) {
      const at = now();
      const recent = taken[call].filter((time) => time > at - windowMs);
      taken[call] = recent;
      const [oldest] = recent;
      const last = recent.at(-1);
      if (recent.length >= maxCallsPerMinute[call] && oldest !== undefined) return oldest + windowMs - at;
      // From the half on they are spread out, so that there is always a next one soon.
      const due =
        last === undefined || recent.length < maxCallsPerMinute[call] / 2
          ? at
          : last + windowMs / maxCallsPerMinute[call];
      if (due > at) return due - at;
      recent.push(at);
      return 0;
    },
  };
}
