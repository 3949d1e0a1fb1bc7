/** The folders from which a result may include files. */
import { relative } from "node:path";
import { isInside } from "../../lib/is-inside.ts";

/**
 * A result may include files only from these folders, because the call can write only there and people see the files.
 */
export interface FilePlaces {
  workingFolder: string;
  dataFolder: string;
  outbox: string;
}

/** Leaves a path outside both folders unchanged, and `atPlace` refuses it. */
export function placeOf(
  path: string,
  { workingFolder, dataFolder }: FilePlaces,
): { workingFolder: string; path: string } {
  const home = isInside(path, dataFolder) ? dataFolder : workingFolder;
  return { workingFolder: home, path: isInside(path, home) ? relative(home, path) : path };
}
