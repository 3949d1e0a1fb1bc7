/** Kept changes that can be undone, as people and the ledger see them. */
import type { JournalEntry } from "./journal-entry.ts";

export interface UndoEntry {
  id: string;
  base: string;
  at: number;
  paths: number;
  bytes: number;
}

export function undoEntryOf({ id, base, at, paths, bytes }: JournalEntry): UndoEntry {
  return { id, base, at, paths, bytes };
}
