/** Stages changes to keep or undo, without visibly changing the base. Only quick steps such as renames remain. */
import { chmodSync, lchownSync } from "node:fs";
import { codeOf } from "../../lib/errors.ts";
import { type ChangeFailure, failureOf } from "./change-outcome.ts";
import { copyEntry, tryLink } from "./copy-entry.ts";
import { type EntryStamp, isSameStamp, isSameState, readEntry, stampOf } from "./entry-state.ts";
import { type JournalChange, syncPath } from "./journal-entry.ts";
import type { LayerChange } from "./layer-changes.ts";
import type { FolderCursor, OpenFolder } from "./open-folder.ts";
import type { Pace } from "./pace.ts";
import { decodePath, encodeBytes, type RawPath } from "./raw-path.ts";
import { nameAt, type StagingArea } from "./staging-area.ts";

export type StampedChange = JournalChange & Pick<LayerChange, "stamp">;

export interface Staging {
  changes: readonly StampedChange[];
  area: StagingArea;
  base: FolderCursor;
  /** Receives a second copy of the old versions. Undefined if the staging area keeps them. */
  saved: OpenFolder | undefined;
  /** Puts the new file or link of path number `index` at `name`, where nothing exists yet. */
  provide(index: number, target: OpenFolder, name: Buffer): Promise<void>;
  pace: Pace;
  onStep?: ((step: string) => void) | undefined;
}

export type Staged =
  /** New stamps of base by index, because saving can change a file's ctime. */
  { type: "staged"; stamps: (EntryStamp | undefined)[] } | { type: "conflict"; paths: RawPath[] } | ChangeFailure;

const maxSyncs = 8;

/** Resolves once everything is durable. */
export async function stageChanges(staging: Staging): Promise<Staged> {
  const { changes, pace, onStep } = staging;
  const stamps: (EntryStamp | undefined)[] = [];
  for (const [index, change] of changes.entries()) {
    if (pace.isDue()) await pace.rest();
    try {
      if (!(await stageNew(staging, index, change))) return { type: "conflict", paths: [change.path] };
      onStep?.(`staged ${index}`);
      const saved = await saveEarlier(staging, index, change);
      if (saved === "changed") return { type: "conflict", paths: [change.path] };
      stamps[index] = saved;
      onStep?.(`saved ${index}`);
    } catch (thrown) {
      return failureOf(thrown, change.path);
    }
  }
  try {
    await syncAll(staging);
  } catch (thrown) {
    return failureOf(thrown, "");
  }
  return { type: "staged", stamps };
}

function isFileOrLink(state: JournalChange["from"]): boolean {
  return state.type === "file" || state.type === "link";
}

async function stageNew({ area, provide, pace }: Staging, index: number, change: JournalChange): Promise<boolean> {
  const { from, to, owner } = change;
  if (!isFileOrLink(to) && to.type !== "special") return true;
  const name = nameAt(index);
  await provide(index, area.after, name);
  const path = area.after.path(name);
  if (to.type === "file") {
    if (isFileOrLink(from) && owner.uid >= 0) keepOwner(path, owner);
    chmodSync(path, to.mode);
  }
  const staged = await readEntry({ ...area.after, access: "peek" }, name, pace);
  return isSameState(staged.state, to);
}

/** Only root can change owners. */
function keepOwner(path: Buffer, { uid, gid }: { uid: number; gid: number }): void {
  if (process.geteuid?.() === 0) lchownSync(path, uid, gid);
}

async function saveEarlier(
  { area, base, saved, pace }: Staging,
  index: number,
  change: StampedChange,
): Promise<EntryStamp | undefined | "changed"> {
  const parts = decodePath(change.path);
  const name = parts.pop() as Buffer;
  const folder = base.at(parts);
  const stat = folder?.stat(name);
  if (change.from.type === "absent") return stat === undefined ? undefined : "changed";
  if (folder === undefined || stat === undefined) return "changed";
  if (change.from.type === "folder") return stat.isDirectory() ? stampOf(stat) : "changed";
  if (!isSameStamp(stampOf(stat), change.stamp)) {
    const found = await readEntry(folder, name, pace);
    if (!isSameState(found.state, change.from)) return "changed";
  }
  const target = area.before.path(nameAt(index));
  // Copy a file that has several hard links, because a write through another link must not change the saved version.
  const isLinked = (!stat.isFile() || stat.nlink === 1n) && tryLink(folder.path(name), target);
  if (!isLinked) await copyEntry({ folder, name }, target);
  const kept = area.before.stat(nameAt(index));
  if (isLinked && kept?.ino !== stat.ino) return "changed";
  if (!isLinked && !isSameState((await readEntry(area.before, nameAt(index), pace)).state, change.from))
    return "changed";
  if (saved !== undefined) await copyEntry({ folder: area.before, name: nameAt(index) }, saved.path(nameAt(index)));
  const now = folder.stat(name);
  return now === undefined ? "changed" : stampOf(now);
}

/** Runs syncs in parallel so that they share writes to the file system's journal. */
async function syncAll({ changes, area, saved }: Staging): Promise<void> {
  const files = changes.flatMap((change, index) => (change.to.type === "file" ? [area.after.path(nameAt(index))] : []));
  if (saved !== undefined) {
    for (const [index, change] of changes.entries()) {
      if (change.from.type === "file") files.push(saved.path(nameAt(index)));
    }
  }
  const queue = files.values();
  const work = async () => {
    for (const file of queue) await syncReadable(file);
  };
  // All syncs must end before the folders are closed.
  const ended = await Promise.allSettled(Array.from({ length: maxSyncs }, work));
  for (const result of ended) if (result.status === "rejected") throw result.reason;
  for (const folder of [area.after, area.before, saved]) {
    if (folder !== undefined) await syncPath(`/proc/self/fd/${folder.fd}`);
  }
}

async function syncReadable(path: Buffer): Promise<void> {
  try {
    await syncPath(path);
  } catch (thrown) {
    if (codeOf(thrown) !== "EACCES") throw thrown;
  }
}

/** Finds parent folders that deny their owner write access, and their modes. Root needs none. */
export function foldersToOpen(
  base: FolderCursor,
  changes: readonly JournalChange[],
): { path: RawPath; mode: number }[] {
  const euid = process.geteuid?.();
  if (euid === 0) return [];
  const changed = new Set(changes.map((change) => change.path));
  const found = new Map<RawPath, number>();
  for (const { path } of changes) {
    const parts = decodePath(path).slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth++) {
      const above = parts.slice(0, depth);
      const raw = above.map(encodeBytes).join("/");
      if (changed.has(raw) || found.has(raw)) continue;
      const stat = base.at(above.slice(0, -1))?.stat(above.at(-1) as Buffer);
      if (!stat?.isDirectory()) break;
      found.set(raw, Number(stat.mode & 0o7777n));
    }
  }
  return Array.from(found, ([path, mode]) => ({ path, mode })).filter(({ mode }) => (mode & 0o700) !== 0o700);
}
