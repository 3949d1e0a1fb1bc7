/**
 * Caches the entries that this process saw last, by key. They may be out of date, so the ledger checks every write that
 * is based on them. Number and size are limited; the entry that was seen longest ago is dropped first.
 */
export interface EntryCache<T> {
  get(key: string): T | undefined;
  set(key: string, entry: T, characters: number): void;
  drop(key: string): void;
}

const maxEntries = 500;
const maxCharacters = 50_000;

export function createEntryCache<T>(): EntryCache<T> {
  const entries = new Map<string, T>();
  return {
    get: (key) => entries.get(key),
    set(key, entry, characters) {
      entries.delete(key);
      if (characters > maxCharacters) return;
      entries.set(key, entry);
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
    drop: (key) => void entries.delete(key),
  };
}
