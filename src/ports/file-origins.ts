/**
 * Which files hold what somebody else may have written: by path and content, so that a file that a person has changed by
 * other means is not marked any more. Kept in the ledger, for each real folder.
 */
import type { Origin } from "./origin.ts";

export interface SeenFolder {
  /** The real folder: absolute, free of links. */
  root: string;
  /** As the call sees it; the same, or a view of the draft over it. A path that `open` takes. */
  seen: string;
}

export interface FileOrigins {
  /** Marks these files with their content as it is now. `paths`: relative, encoded as in effects. Does nothing without origins. */
  mark(folder: SeenFolder, paths: readonly string[], origins: readonly Origin[]): Promise<void>;
  /**
   * What a call reads there: with `path`, the origins of that ordinary file, also of a copy of a marked one; without, or
   * where `path` is a folder or can't be opened, those of all marked files that are unchanged.
   */
  read(folder: SeenFolder, path: string | undefined): Promise<Origin[]>;
}
