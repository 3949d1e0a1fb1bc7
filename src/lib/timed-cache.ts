/**
 * Remembers what a service answered for a while, so that pages that ask all the time cost it few requests. Requests under
 * way are shared. A rejection is remembered too.
 */
import { createLruMap } from "./lru-map.ts";

export type TimedCache<Value> = (key: string, load: () => Promise<Value>) => Promise<Value>;

export interface TimedCacheOptions {
  keepMs: number;
  maxEntries: number;
  now?: () => number;
}

export function createTimedCache<Value>({ keepMs, maxEntries, now = Date.now }: TimedCacheOptions): TimedCache<Value> {
  const kept = createLruMap<{ value: Promise<Value>; until: number }>(maxEntries);
  return (key, load) => {
    const known = kept.get(key);
    if (known !== undefined && now() < known.until) return known.value;
    const value = load();
    kept.set(key, { value, until: now() + keepMs });
    return value;
  };
}
