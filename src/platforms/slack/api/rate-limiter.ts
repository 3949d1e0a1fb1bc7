/**
 * How often the partial texts of all replies together may call Slack. Slack counts calls a minute over the whole workspace,
 * so replies share: each takes a slot before a partial text, and waits when there is none. What must be said (posts, final
 * texts, cards) takes none, and has the rest of Slack's allowance.
 */

export interface Paces {
  /** Takes a slot; or how long until there is one, in milliseconds. */
  take(call: PacedCall): number;
}

export type PacedCall = "append" | "edit" | "start" | "status";

/** Calls a minute, of 100, 50, 20 and 600 that Slack allows. */
const allowed: Record<PacedCall, number> = { append: 85, edit: 35, start: 14, status: 300 };
const windowMs = 60_000;

export function createPaces(now: () => number = Date.now): Paces {
  const taken: Record<PacedCall, number[]> = { append: [], edit: [], start: [], status: [] };
  return {
    take(call) {
      const at = now();
      const recent = taken[call].filter((time) => time > at - windowMs);
      taken[call] = recent;
      const [oldest] = recent;
      const last = recent.at(-1);
      if (recent.length >= allowed[call] && oldest !== undefined) return oldest + windowMs - at;
      // From the half on they are spread out, so that there is always a next one soon.
      const due = last === undefined || recent.length < allowed[call] / 2 ? at : last + windowMs / allowed[call];
      if (due > at) return due - at;
      recent.push(at);
      return 0;
    },
  };
}
