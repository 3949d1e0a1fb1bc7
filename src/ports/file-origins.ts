/** Marks files that hold text by others, by path and content: a file that a person changes by other means loses its mark. */
import type { Origin } from "./origin.ts";

export interface SeenFolder {
  root: string;
  /** The folder as the call sees it: the real one, or the draft over it. `open` accepts this path. */
  seen: string;
}

export interface FileOrigins {
  /** Marks these files with their present content. `paths`: relative, encoded as in effects. Does nothing without origins. */
  mark(folder: SeenFolder, paths: readonly string[], origins: readonly Origin[]): Promise<void>;
  /**
   * Origins of what a call reads. With `path`: of that file, or of the marked file that it copies. Without, or when `path` is
   * a folder or can't be opened: of all unchanged marked files.
   */
  read(folder: SeenFolder, path: string | undefined): Promise<Origin[]>;
}
