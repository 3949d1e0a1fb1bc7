/** Beyond `maxEntries`, the least recently used entry is dropped. */
export interface LruMap<Value> {
  get(key: string): Value | undefined;
  /** Unlike `get`, does not count as a use. */
  has(key: string): boolean;
  set(key: string, value: Value): void;
  delete(key: string): void;
  deleteWhere(isGone: (key: string, value: Value) => boolean): void;
}

export function createLruMap<Value>(maxEntries: number): LruMap<Value> {
  const entries = new Map<string, Value>();

  function set(key: string, value: Value): void {
    entries.delete(key);
    entries.set(key, value);
    const [oldest] = entries.keys();
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
  }

  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    has: (key) => entries.has(key),
    set,
    delete: (key) => void entries.delete(key),
    deleteWhere(isGone) {
      for (const [key, value] of [...entries]) if (isGone(key, value)) entries.delete(key);
    },
  };
}
