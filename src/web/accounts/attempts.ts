/**
 * Limits attempts to sign in, per address and per account, in this process. An attempt counts when it begins, so that
 * parallel attempts are limited too, and a success forgives what the account had.
 */
import { elapsedSince } from "../../lib/elapsed.ts";
import { createLruMap } from "../../lib/lru-map.ts";

export interface AttemptKey {
  key: string;
  /** In 15 minutes. */
  max: number;
}

export interface Attempts {
  /** Returns how long to wait in milliseconds, or 0 after counting this attempt. */
  begin(keys: readonly AttemptKey[]): number;
  forgive(key: string): void;
}

const windowMs = 15 * 60_000;
/** More addresses than these at once are an attack from many machines; the oldest are forgotten. */
const maxKeys = 50_000;

export function createAttempts(now: () => number = Date.now): Attempts {
  const counts = createLruMap<{ since: number; count: number }>(maxKeys);

  function current(key: string): { since: number; count: number } {
    const known = counts.get(key);
    return known === undefined || elapsedSince(known.since, now()) >= windowMs ? { since: now(), count: 0 } : known;
  }

  return {
    begin(keys) {
      const all = keys.map(({ key, max }) => ({ key, max, ...current(key) }));
      const full = all.filter(({ count, max }) => count >= max);
      if (full.length > 0) return Math.max(...full.map(({ since }) => since + windowMs - now()));
      for (const { key, since, count } of all) counts.set(key, { since, count: count + 1 });
      return 0;
    },
    forgive: (key) => void counts.delete(key),
  };
}
