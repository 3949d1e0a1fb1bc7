/**
 * Marks files that contain other people's text, by path and content. A file that a person changes by other means loses its
 * mark.
 */
import type { Origin } from "./origin.ts";

export interface SeenFolder {
  root: string;
  /** The folder as the call sees it: the real one, or the draft over it. `open` accepts this path. */
  seen: string;
}

export interface FileOrigins {
  /**
   * Marks these files with their current content. `paths` are relative and encoded like `RawPath`. Does nothing if `origins` is
   * empty.
   */
  mark(folder: SeenFolder, paths: readonly string[], origins: readonly Origin[]): Promise<void>;
  /**
   * Returns the origins of what a call reads. If `path` is a file, these are the origins of that file, or of the marked file
   * that it is a copy of. If `path` is absent, a folder or can't be opened, they are the origins of all unchanged marked files.
   */
  read(folder: SeenFolder, path: string | undefined): Promise<Origin[]>;
}
