import { relative, sep } from "node:path";

/** Paths inside of the folder from which Remora runs are shown without it. */
export function shortPath(path: string): string {
  return path.startsWith(`${process.cwd()}${sep}`) ? relative(process.cwd(), path) : path;
}
