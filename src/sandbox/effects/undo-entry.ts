/** What people and the ledger know of a keep that can be undone. */
import type { JournalEntry } from "./journal-entry.ts";

export interface UndoEntry {
  id: string;
  /** The folder that was changed. */
  base: string;
  /** Milliseconds since 1970. */
  at: number;
  paths: number;
  /** Of the earlier versions. */
  bytes: number;
}

export function undoEntryOf({ id, base, at, paths, bytes }: JournalEntry): UndoEntry {
  return { id, base, at, paths, bytes };
}
