/** The folders from which a result may include files. */
import { relative } from "node:path";
import { isInside } from "../library/find.ts";

/** A result may include only files from these folders. People see the files, and the call may write only here. */
export interface FilePlaces {
  workingFolder: string;
  dataFolder: string;
  outbox: string;
}

/** `atPlace` refuses a path that leads out of both folders. */
export function placeOf(
  path: string,
  { workingFolder, dataFolder }: FilePlaces,
): { workingFolder: string; path: string } {
  const home = isInside(path, dataFolder) ? dataFolder : workingFolder;
  return { workingFolder: home, path: isInside(path, home) ? relative(home, path) : path };
}
