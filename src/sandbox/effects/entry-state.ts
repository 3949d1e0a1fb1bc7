/** Reads and compares what is at a path: a file, folder, link, special file, or nothing. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { codeOf } from "../../lib/errors.ts";
import { type FileContent, readContent } from "./file-content.ts";
import { type OpenFolder, openUnreadable } from "./open-folder.ts";
import type { Pace } from "./pace.ts";
import { encodeBytes } from "./raw-path.ts";

/** `mode` has the permission bits (0o7777). `target` is encoded like a path. */
export type EntryState =
  | { type: "absent" }
  | { type: "file"; mode: number; bytes: number; hash: string }
  | { type: "folder"; mode: number }
  | { type: "link"; target: string }
  /** A socket, pipe or device in the base folder. It can be deleted and restored, but never created. */
  | { type: "special"; mode: number };

/** Cheap to read. Differs if the file was replaced or changed. Uses strings, because JSON has no bigint. */
export interface EntryStamp {
  inode: string;
  mode: number;
  bytes: number;
  mtimeNs: string;
  ctimeNs: string;
}

export interface FoundEntry {
  state: EntryState;
  stamp: EntryStamp | undefined;
  owner: { uid: number; gid: number };
  content: FileContent | undefined;
}

export const absent: EntryState = { type: "absent" };
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Maximum attempts to read an entry. An attempt fails if somebody replaces the entry meanwhile. */
const maxTries = 5;

export function isWhiteout(stat: BigIntStats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0n;
}

export function stampOf(stat: BigIntStats): EntryStamp {
  return {
    inode: String(stat.ino),
    mode: modeOf(stat),
    bytes: Number(stat.size),
    mtimeNs: String(stat.mtimeNs),
    ctimeNs: String(stat.ctimeNs),
  };
}

export function isSameStamp(one: EntryStamp | undefined, other: EntryStamp | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.inode === other.inode &&
    one.mode === other.mode &&
    one.bytes === other.bytes &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  );
}

export function modeOf(stat: BigIntStats): number {
  return Number(stat.mode & 0o7777n);
}

/** Reads an entry and, for a file, its content. Must never follow a link or wait for a pipe. */
export async function readEntry(folder: OpenFolder, name: Buffer, pace: Pace): Promise<FoundEntry> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryReadEntry(folder, name, pace);
    } catch (thrown) {
      const wasSwapped = ["ELOOP", "ENOENT", "EINVAL", "ENXIO"].includes(codeOf(thrown) ?? "");
      if (!wasSwapped || tries === maxTries) throw thrown;
    }
  }
}

async function tryReadEntry(folder: OpenFolder, name: Buffer, pace: Pace): Promise<FoundEntry> {
  const stat = folder.stat(name);
  if (stat === undefined) {
    return { state: absent, stamp: undefined, owner: { uid: -1, gid: -1 }, content: undefined };
  }
  const entry = { stamp: stampOf(stat), owner: { uid: Number(stat.uid), gid: Number(stat.gid) }, content: undefined };
  if (stat.isDirectory()) return { ...entry, state: { type: "folder", mode: modeOf(stat) } };
  if (stat.isSymbolicLink()) {
    const target = readlinkSync(folder.path(name), { encoding: "buffer" });
    return { ...entry, state: { type: "link", target: encodeBytes(target) } };
  }
  if (!stat.isFile()) return { ...entry, state: { type: "special", mode: modeOf(stat) } };
  return readFileEntry(folder, name, pace, stat);
}

async function readFileEntry(folder: OpenFolder, name: Buffer, pace: Pace, found: BigIntStats): Promise<FoundEntry> {
  const owner = { uid: Number(found.uid), gid: Number(found.gid) };
  const fd = openFile(folder, name);
  // The file is unreadable, so use its inode and modification time instead of the hash.
  if (fd === undefined) {
    const hash = `unreadable:${found.ino}:${found.mtimeNs}`;
    const state = { type: "file", mode: modeOf(found), bytes: Number(found.size), hash } as const;
    return { state, stamp: stampOf(found), owner, content: undefined };
  }
  try {
    const content = await readContent(fd, Number(found.size), pace);
    const stat = fstatSync(fd, { bigint: true });
    // Opening an unreadable file may have changed and restored its mode, so take the stamp afterwards.
    const state = { type: "file", mode: modeOf(stat), bytes: content.bytes, hash: content.hash } as const;
    return { state, stamp: stampOf(stat), owner, content };
  } finally {
    closeSync(fd);
  }
}

export function openFile(folder: OpenFolder, name: Buffer): number | undefined {
  const flags = O_RDONLY | O_NONBLOCK;
  try {
    return openSync(folder.path(name), flags | O_NOFOLLOW);
  } catch (thrown) {
    if (codeOf(thrown) !== "EACCES") throw thrown;
    return folder.access === "read" ? undefined : openUnreadable(folder.path(name), flags, true);
  }
}

export function isSameState(one: EntryState, other: EntryState): boolean {
  switch (one.type) {
    case "absent":
      return other.type === "absent";
    case "file":
      return other.type === "file" && one.mode === other.mode && one.hash === other.hash;
    case "folder":
    case "special":
      return other.type === one.type && one.mode === other.mode;
    case "link":
      return other.type === "link" && one.target === other.target;
    default:
      return one satisfies never;
  }
}

export async function isSameEntry(
  one: { folder: OpenFolder; name: Buffer },
  other: { folder: OpenFolder; name: Buffer },
  pace: Pace,
): Promise<boolean> {
  const [oneStat, otherStat] = [one.folder.stat(one.name), other.folder.stat(other.name)];
  if (oneStat === undefined || otherStat === undefined) return oneStat === otherStat;
  const isSameType = (oneStat.mode & 0o170000n) === (otherStat.mode & 0o170000n);
  if (!isSameType) return false;
  if (oneStat.isFile() && (oneStat.size !== otherStat.size || oneStat.mode !== otherStat.mode)) return false;
  const [oneEntry, otherEntry] = [
    await readEntry(one.folder, one.name, pace),
    await readEntry(other.folder, other.name, pace),
  ];
  return isSameState(oneEntry.state, otherEntry.state);
}
