/** A map that keeps the most recently used entries, at most so many. */
export interface Recent<Value> {
  get(key: string): Value | undefined;
  has(key: string): boolean;
  set(key: string, value: Value): void;
  delete(key: string): void;
}

export function createRecent<Value>(most: number): Recent<Value> {
  const entries = new Map<string, Value>();

  function set(key: string, value: Value): void {
    entries.delete(key);
    entries.set(key, value);
    const [oldest] = entries.keys();
    if (entries.size > most && oldest !== undefined) entries.delete(oldest);
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
  };
}
