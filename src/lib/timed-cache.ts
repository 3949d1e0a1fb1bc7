/**
 * Caches a service's answers for a while, so that a page that refreshes often causes few requests. Concurrent requests
 * share one answer. A rejection is cached too.
 */
import { elapsedSince } from "./elapsed.ts";
import { createLruMap } from "./lru-map.ts";

export type TimedCache<Value> = (key: string, load: () => Promise<Value>) => Promise<Value>;

export interface TimedCacheOptions {
  keepMs: number;
  maxEntries: number;
  now?: () => number;
}

export function createTimedCache<Value>({ keepMs, maxEntries, now = Date.now }: TimedCacheOptions): TimedCache<Value> {
  const kept = createLruMap<{ value: Promise<Value>; since: number }>(maxEntries);
  return (key, load) => {
    const known = kept.get(key);
    if (known !== undefined && elapsedSince(known.since, now()) < keepMs) return known.value;
    const value = load();
    kept.set(key, { value, since: now() });
    return value;
  };
}
