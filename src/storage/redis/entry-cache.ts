/** Caches recently seen entries by key, within limits. They may be out of date, so the ledger checks every write. */
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
