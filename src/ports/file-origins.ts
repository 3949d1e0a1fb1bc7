/**
 * Marks files and links that contain other people's text, by path and content, and names that may consist of it. An edit
 * outside Remora removes the mark of the content, and a rename that of the name.
 */
import type { Origin } from "./origin.ts";

export interface SeenFolder {
  root: string;
  /** The folder as the call sees it: the real one, or the draft over it. Open it; never use `realpath`. */
  seen: string;
}

export interface WrittenEntry {
  /** Relative and encoded like `RawPath`. */
  path: string;
  /** Nothing had this name before, so whoever wrote the entry has chosen it. */
  isNew: boolean;
}

export interface FileOrigins {
  mark(folder: SeenFolder, written: readonly WrittenEntry[], origins: readonly Origin[]): Promise<void>;
  /** Marks everything in a folder, including what is written into it later. `path` is as in `WrittenEntry`. */
  markFolder(root: string, path: string, origins: readonly Origin[]): Promise<void>;
  /**
   * Returns the origins of the file at `path`, even if it is a copy of a marked file. If `path` is absent, a folder or
   * unreadable, returns the origins of all names and of all marked files that are unchanged.
   */
  read(folder: SeenFolder, path: string | undefined): Promise<Origin[]>;
}
