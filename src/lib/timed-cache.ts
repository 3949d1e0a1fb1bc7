/**
 * Caches a service's answers for a while, so that a page that refreshes often causes few requests. Concurrent requests
 * share one answer. A rejection is cached too, unless it is to be forgotten.
 */
import { elapsedSince } from "./elapsed.ts";
import { createLruMap } from "./lru-map.ts";

export type TimedCache<Value> = (key: string, load: () => Promise<Value>) => Promise<Value>;

export interface TimedCacheOptions {
  keepMs: number;
  maxEntries: number;
  forgetsRejections?: boolean;
  now?: () => number;
}

export function createTimedCache<Value>(options: TimedCacheOptions): TimedCache<Value> {
  const { keepMs, maxEntries, forgetsRejections = false, now = Date.now } = options;
  const kept = createLruMap<{ value: Promise<Value>; since: number }>(maxEntries);
  return (key, load) => {
    const known = kept.get(key);
    if (known !== undefined && elapsedSince(known.since, now()) < keepMs) return known.value;
    const made = { value: load(), since: now() };
    kept.set(key, made);
    if (forgetsRejections)
      made.value.catch(() => {
        made.since = 0;
      });
    return made.value;
  };
}
