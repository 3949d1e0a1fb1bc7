/** The folders from which a result may include files. */
import { relative } from "node:path";
import { isInside } from "../library/find.ts";

/** People and models see these files, so they may come only from where the call may write. */
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
