/** The visible state of a folder's files: bytes, types, modes, owners, links and modification times. */
import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A line for each file, by its path as raw bytes (latin1). */
export type FolderState = ReadonlyMap<string, string>;

export interface StateOptions {
  /** Without it files are not opened; the times of change tell of every change. */
  content?: boolean;
  depth?: number;
  /** The name of what is left out. */
  without?: string;
}

export function readFolderState(folder: string, options: StateOptions = {}): FolderState {
  const { content = true, depth = Number.POSITIVE_INFINITY, without } = options;
  const state = new Map<string, string>();
  const read = (path: Buffer, left: number) => {
    const stats = lstatSync(path, { bigint: true });
    state.set(path.toString("latin1"), describeFile(path, stats, content));
    if (!stats.isDirectory() || left === 0) return;
    for (const name of readdirSync(path, { encoding: "buffer" })) {
      if (without === undefined || !name.equals(Buffer.from(without)))
        read(Buffer.concat([path, Buffer.from("/"), name]), left - 1);
    }
  };
  read(Buffer.from(folder), depth);
  return state;
}

/** Larger files are compared by modification time only. */
const maxHashedBytes = 64n * 1024n * 1024n;

function describeFile(path: Buffer, stats: BigIntStats, content: boolean): string {
  const { ino, mode, uid, gid, nlink, size, rdev, mtimeNs, ctimeNs } = stats;
  const facts = [ino, mode.toString(8), uid, gid, nlink, size, rdev, mtimeNs, ctimeNs];
  if (stats.isSymbolicLink()) facts.push(readlinkSync(path));
  if (content && stats.isFile() && size <= maxHashedBytes)
    facts.push(createHash("sha256").update(readFileSync(path)).digest("hex"));
  return facts.join(" ");
}

/** One line per difference; empty if there is none. */
export function differences(before: FolderState, after: FolderState): string[] {
  const lines: string[] = [];
  for (const [path, was] of before) {
    const is = after.get(path);
    if (is === undefined) lines.push(`${path} is gone`);
    else if (is !== was) lines.push(`${path} changed: ${was} -> ${is}`);
  }
  for (const path of after.keys()) if (!before.has(path)) lines.push(`${path} is new`);
  return lines;
}
