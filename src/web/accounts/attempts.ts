/** Counts attempts by key, in this process and for a time. Which attempts count, and how many may, is the caller's to say. */
import { elapsedSince } from "../../lib/elapsed.ts";
import { createLruMap } from "../../lib/lru-map.ts";

export interface Attempts {
  count(key: string): number;
  add(key: string): void;
  /** Milliseconds until another attempt may follow; 0 if fewer than `max` have been counted. */
  waitMs(key: string, max: number): number;
}

/** More than these at once are an attack from many networks; those that were used longest ago are forgotten. */
const maxKeys = 50_000;

export function createAttempts(windowMs: number, now: () => number): Attempts {
  const counts = createLruMap<{ since: number; count: number }>(maxKeys);

  function current(key: string): { since: number; count: number } {
    const known = counts.get(key);
    return known === undefined || elapsedSince(known.since, now()) >= windowMs ? { since: now(), count: 0 } : known;
  }

  return {
    count: (key) => current(key).count,
    add(key) {
      const { since, count } = current(key);
      counts.set(key, { since, count: count + 1 });
    },
    waitMs(key, max) {
      const { since, count } = current(key);
      return count < max ? 0 : since + windowMs - now();
    },
  };
}
