import { sep } from "node:path";

/** True for the folder itself, too. Both paths must be absolute and have their links resolved. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
