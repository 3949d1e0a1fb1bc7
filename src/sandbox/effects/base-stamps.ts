/** Detects changes by others to the real files that a draft touches, without reading those files again. */
import type { BigIntStats } from "node:fs";
import { type EntryStamp, isSameStamp, stampOf } from "./entry-state.ts";
import { createFolderCursor } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { decodePath, type RawPath } from "./raw-path.ts";

/** A null stamp means that nothing was at the path. */
export type BaseStamps = { path: RawPath; stamp: EntryStamp | null }[];

export async function stampBase(base: string, paths: readonly RawPath[], signal: AbortSignal): Promise<BaseStamps> {
  const pace = createPace(signal);
  const stamps: BaseStamps = [];
  const cursor = createFolderCursor(base, "read");
  try {
    for (const path of paths) {
      if (pace.isDue()) await pace.rest();
      const parts = decodePath(path);
      const name = parts.pop() as Buffer;
      const stat = cursor.at(parts)?.stat(name);
      stamps.push({ path, stamp: stat === undefined ? null : entryStamp(stat) });
    }
  } finally {
    cursor.close();
  }
  return stamps;
}

/** Ignores the ctime, because backups and interrupted attempts to keep the draft change it by linking the file. */
export async function findChangedBase(base: string, stamps: BaseStamps, signal: AbortSignal): Promise<RawPath[]> {
  const paths = stamps.map(({ path }) => path);
  const now = await stampBase(base, paths, signal);
  return paths.filter((_, at) => !isSameStamp(comparable(stamps[at]), comparable(now[at])));
}

function comparable(stamp: BaseStamps[number] | undefined): EntryStamp | undefined {
  return stamp?.stamp ? { ...stamp.stamp, ctimeNs: "0" } : undefined;
}

/** A folder's times change with its contents, so they are ignored. */
function entryStamp(stat: BigIntStats): EntryStamp {
  const stamp = stampOf(stat);
  return stat.isDirectory() ? { inode: "folder", mode: stamp.mode, bytes: 0, mtimeNs: "0", ctimeNs: "0" } : stamp;
}
