/** Marks files that contain other people's text, by path and content. An edit outside Remora removes the mark. */
import type { Origin } from "./origin.ts";

export interface SeenFolder {
  root: string;
  /** The folder as the call sees it: the real one, or the draft over it. Open it; never use `realpath`. */
  seen: string;
}

export interface FileOrigins {
  /** `paths` are relative and encoded like `RawPath`. */
  mark(folder: SeenFolder, paths: readonly string[], origins: readonly Origin[]): Promise<void>;
  /** Marks everything in a folder, including what is written into it later. `path` is as in `mark`. */
  markFolder(root: string, path: string, origins: readonly Origin[]): Promise<void>;
  /**
   * Returns the origins of the file at `path`, even if it is a copy of a marked file. If `path` is absent, a folder or
   * unreadable, returns the origins of all marked files that are unchanged.
   */
  read(folder: SeenFolder, path: string | undefined): Promise<Origin[]>;
}
