/** Finds what a backup of a folder contains, and what it leaves out. Follows no links. */
import { lstat, readlink } from "node:fs/promises";
import { join, posix } from "node:path";
import { ifMissing } from "../lib/errors.ts";
import type { LeftOut } from "./manifest.ts";
import { namesIn } from "./names-in.ts";

export type FoundEntry = { path: string; mode: number; mtimeMs: number } & (
  | { type: "file"; size: number; birthtimeMs: number }
  | { type: "folder" | "whiteout" }
  | { type: "link"; target: string }
);

/** Returns why a path (relative to the folder) is left out. An empty reason leaves it out without saying so. */
export type Exclude = (path: string) => string | undefined;

export async function* findFiles(root: string, exclude: Exclude, leftOut: LeftOut[]): AsyncGenerator<FoundEntry> {
  yield* walk("");

  async function* walk(folder: string): AsyncGenerator<FoundEntry> {
    for (const name of (await namesIn(join(root, folder))).toSorted()) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const reason = exclude(path);
      if (reason !== undefined) {
        if (reason !== "") leftOut.push({ path, reason });
        continue;
      }
      const entry = await entryAt(path);
      if (typeof entry === "string") leftOut.push({ path, reason: entry });
      else if (entry !== undefined) {
        yield entry;
        if (entry.type === "folder") yield* walk(path);
      }
    }
  }

  async function entryAt(path: string): Promise<FoundEntry | string | undefined> {
    const absolute = join(root, path);
    const stats = await lstat(absolute).catch(ifMissing(undefined));
    // It may have been deleted since its folder was read. A name that is not UTF-8 can't be found either.
    if (stats === undefined) return path.includes("\ufffd") ? "its name is not valid UTF-8" : undefined;
    const { mtimeMs, birthtimeMs, size } = stats;
    const common = { path, mtimeMs, mode: stats.mode & 0o777 };
    if (stats.isFile()) return { ...common, type: "file", size, birthtimeMs };
    if (stats.isDirectory()) return { ...common, type: "folder" };
    if (stats.isCharacterDevice() && stats.rdev === 0) return { ...common, type: "whiteout" };
    if (!stats.isSymbolicLink()) return "it is not a file";
    const target = await readlink(absolute).catch(ifMissing(undefined));
    if (target === undefined) return undefined;
    return isInnerLink(path, target) ? { ...common, type: "link", target } : "it is a link to a place outside";
  }
}

/**
 * True if a link at `path` stays within the folder. `..` only counts at the beginning, where it can't follow another
 * link.
 */
export function isInnerLink(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false;
  const parts = target.split("/");
  const ups = parts.findIndex((part) => part !== "..");
  if (ups !== -1 && parts.slice(ups).includes("..")) return false;
  const resolved = posix.join(posix.dirname(path), target);
  return resolved !== ".." && !resolved.startsWith("../");
}
