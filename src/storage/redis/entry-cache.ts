/**
 * Entries as this process saw them last, by key: the likely state of what it works on. Whoever writes on that ground lets the
 * ledger check it. Bounded in number and in size; what was not seen for longest goes first.
 */
export interface EntryCache<T> {
  get(key: string): T | undefined;
  /** `characters`: of its text. */
  set(key: string, entry: T, characters: number): void;
  drop(key: string): void;
}

const mostEntries = 500;
const mostCharacters = 50_000;

export function createEntryCache<T>(): EntryCache<T> {
  const entries = new Map<string, T>();
  return {
    get: (key) => entries.get(key),
    set(key, entry, characters) {
      entries.delete(key);
      if (characters > mostCharacters) return;
      entries.set(key, entry);
      const [oldest] = entries.keys();
      if (entries.size > mostEntries && oldest !== undefined) entries.delete(oldest);
    },
    drop: (key) => void entries.delete(key),
  };
}
