/**
 * Moves the base folder from one state to another, or back: moves old entries away, puts new ones in place, then sets
 * the modes of folders. In the first forward run, a path that differs from what was read is a conflict. Later runs
 * (back, or after a crash) skip finished paths and must never overwrite what somebody else made.
 */
import { fchmodSync, linkSync, lstatSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { codeOf } from "../../lib/errors.ts";
import { type ChangeFailure, type ChangeOutcome, failureOf } from "./change-outcome.ts";
import { type EntryStamp, type EntryState, isSameStamp, isSameState, readEntry, stampOf } from "./entry-state.ts";
import type { JournalChange, JournalEntry } from "./journal-entry.ts";
import { type FolderCursor, type OpenFolder, openChild } from "./open-folder.ts";
import type { Pace } from "./pace.ts";
import { decodePath, type RawPath } from "./raw-path.ts";
import { nameAt, type StagingArea } from "./staging-area.ts";

export interface Execution {
  changes: readonly JournalChange[];
  opened: JournalEntry["opened"];
  direction: "forward" | "back";
  stamps?: readonly (EntryStamp | undefined)[];
  area: StagingArea;
  /** Must have access `force`. */
  base: FolderCursor;
  pace: Pace;
  onStep?: ((step: string) => void) | undefined;
}

interface Step {
  index: number;
  path: RawPath;
  start: EntryState;
  goal: EntryState;
  folder: OpenFolder | undefined;
  name: Buffer;
}

/** `gone` if an expected entry is missing, `foreign` if the entry is neither start nor goal. */
type Position = "start" | "goal" | "gone" | "foreign";

/** In direction `back`, continues after conflicts and restores everything it can. */
export async function executeChanges(execution: Execution): Promise<ChangeOutcome> {
  const { changes, opened, direction, onStep } = execution;
  const conflicts = new Set<RawPath>();
  const failures: ChangeFailure[] = [];

  async function run(indexes: number[], label: string, work: (step: Step) => Promise<"ok" | "conflict">) {
    for (const index of indexes) {
      if (execution.pace.isDue()) await execution.pace.rest();
      const change = changes[index] as JournalChange;
      if (conflicts.has(change.path)) continue;
      try {
        const outcome = await work(createStep(execution, index, change));
        if (outcome === "conflict") conflicts.add(change.path);
      } catch (thrown) {
        failures.push(failureOf(thrown, change.path));
      }
      if (direction === "forward" && (conflicts.size > 0 || failures.length > 0)) return;
      onStep?.(`${label} ${index}`);
    }
  }

  const indexes = changes.map((_, index) => index);
  const isStopped = () => direction === "forward" && (conflicts.size > 0 || failures.length > 0);
  await run(indexes.toReversed(), "removed", (step) => moveAway(execution, step));
  if (!isStopped()) await run(indexes, "put", (step) => putInPlace(execution, step));
  if (!isStopped()) await run(indexes.toReversed(), "mode", (step) => setMode(execution, step));
  for (const { path, mode } of opened) {
    try {
      restoreMode(execution, path, mode);
    } catch (thrown) {
      failures.push(failureOf(thrown, path));
    }
  }
  if (failures[0] !== undefined) return failures[0];
  return conflicts.size > 0 ? { type: "conflict", paths: [...conflicts] } : { type: "ok" };
}

function createStep({ direction, base }: Execution, index: number, change: JournalChange): Step {
  const [start, goal] = direction === "forward" ? [change.from, change.to] : [change.to, change.from];
  const parts = decodePath(change.path);
  const name = parts.pop() as Buffer;
  return { index, path: change.path, start, goal, folder: base.at(parts), name };
}

/** A file replaces a file in one step; a folder only gets a new mode. Other old entries must be moved away first. */
function needsRemoval(start: EntryState, goal: EntryState): boolean {
  if (start.type === "absent" || goal.type === "absent") return true;
  return (start.type === "folder") !== (goal.type === "folder");
}

async function findPosition(execution: Execution, step: Step): Promise<Position> {
  const stat = step.folder?.stat(step.name);
  if (step.folder === undefined || stat === undefined) return step.start.type === "absent" ? "start" : "gone";
  const stamp = execution.stamps?.[step.index];
  if (step.start.type === "folder" && stat.isDirectory()) return "start";
  if (execution.stamps !== undefined && isSameStamp(stampOf(stat), stamp)) return "start";
  if (execution.stamps === undefined && step.goal.type === "folder" && stat.isDirectory()) return "goal";
  // Removing another hard link to the file changes its ctime, so compare the contents.
  const { state } = await readEntry(step.folder, step.name, execution.pace);
  if (execution.stamps === undefined && isSameState(state, step.goal)) return "goal";
  return isSameState(state, step.start) ? "start" : "foreign";
}

async function moveAway(execution: Execution, step: Step): Promise<"ok" | "conflict"> {
  const { start, goal, folder, name, index } = step;
  if (start.type === "absent" || !needsRemoval(start, goal)) return "ok";
  const position = await findPosition(execution, step);
  if (position === "goal") return "ok";
  if (position === "gone") return execution.stamps === undefined ? "ok" : "conflict";
  if (position === "foreign" || folder === undefined) return "conflict";
  if (start.type === "folder") return removeFolder(folder.path(name));
  const { area, stamps } = execution;
  const aside = area.gone.path(nameAt(index));
  removeFile(aside);
  renameSync(folder.path(name), aside);
  const inode = stamps?.[index]?.inode;
  if (inode === undefined || String(area.gone.stat(nameAt(index))?.ino) === inode) return "ok";
  // Somebody replaced the file between the check and the rename, so put their file back.
  putNew(aside, folder.path(name));
  return "conflict";
}

async function putInPlace(execution: Execution, step: Step): Promise<"ok" | "conflict"> {
  const { start, goal, folder, name, index } = step;
  if (goal.type === "absent" || isSameState(start, goal)) return "ok";
  if (goal.type === "folder" && start.type === "folder") return "ok";
  if (folder === undefined) return "conflict";
  const path = folder.path(name);
  if (goal.type === "folder") return makeFolder(execution, folder, name);
  const content = contentPath(execution, index);
  if (needsRemoval(start, goal)) {
    if (execution.stamps === undefined && (await findPosition(execution, step)) === "goal") return "ok";
    return putNew(content, path);
  }
  const position = await findPosition(execution, step);
  if (position === "goal") return "ok";
  if (position === "gone") return execution.stamps === undefined ? putNew(content, path) : "conflict";
  if (position === "foreign") return "conflict";
  renameSync(content, path);
  return execution.stamps === undefined || isUnwritten(execution, index) ? "ok" : "conflict";
}

/** True if the old file's size and time show that nobody wrote to it before it was replaced. */
function isUnwritten({ area, stamps }: Execution, index: number): boolean {
  const [stat, stamp] = [area.before.stat(nameAt(index)), stamps?.[index]];
  if (stat === undefined || stamp === undefined || String(stat.ino) !== stamp.inode) return true;
  return Number(stat.size) === stamp.bytes && String(stat.mtimeNs) === stamp.mtimeNs;
}

function contentPath({ direction, area }: Execution, index: number): Buffer {
  const name = nameAt(index);
  if (direction === "forward") return area.after.path(name);
  return area.gone.stat(name) === undefined ? area.before.path(name) : area.gone.path(name);
}

/** Must not replace an existing entry. */
function putNew(content: Buffer, path: Buffer): "ok" | "conflict" {
  try {
    linkSync(content, path);
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return "conflict";
    // Linking another user's file may be forbidden, but moving it is not.
    if (codeOf(thrown) !== "EPERM") throw thrown;
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return "conflict";
    renameSync(content, path);
    return "ok";
  }
  unlinkSync(content);
  return "ok";
}

function makeFolder({ stamps }: Execution, folder: OpenFolder, name: Buffer): "ok" | "conflict" {
  try {
    mkdirSync(folder.path(name), { mode: 0o700 });
    return "ok";
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
    return stamps === undefined && folder.stat(name)?.isDirectory() ? "ok" : "conflict";
  }
}

/** If the folder contains more than was shown, that is a conflict. */
function removeFolder(path: Buffer): "ok" | "conflict" {
  try {
    rmdirSync(path);
    return "ok";
  } catch (thrown) {
    if (codeOf(thrown) === "ENOTEMPTY" || codeOf(thrown) === "EEXIST") return "conflict";
    throw thrown;
  }
}

function removeFile(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
  }
}

async function setMode(execution: Execution, { start, goal, folder, name }: Step): Promise<"ok" | "conflict"> {
  if (goal.type !== "folder") return "ok";
  const found = folder?.stat(name);
  if (folder === undefined || !found?.isDirectory()) return "conflict";
  const mode = Number(found.mode & 0o7777n);
  const isExpected = start.type !== "folder" || [start.mode, start.mode | 0o700].includes(mode);
  if (execution.stamps !== undefined && !isExpected) return "conflict";
  if (mode === goal.mode) return "ok";
  const opened = openChild(folder, name);
  if (opened === undefined) return "conflict";
  try {
    fchmodSync(opened.fd, goal.mode);
  } finally {
    opened.close();
  }
  return "ok";
}

function restoreMode({ base }: Execution, path: RawPath, mode: number): void {
  const parts = decodePath(path);
  const name = parts.pop() as Buffer;
  const folder = base.at(parts);
  const opened = folder && openChild(folder, name);
  if (opened === undefined) return;
  fchmodSync(opened.fd, mode);
  opened.close();
}
