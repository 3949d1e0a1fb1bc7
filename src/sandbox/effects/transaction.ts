/**
 * Applies changes to a base folder, all or nothing, even across a crash. Recovery drops a `preparing` entry, completes
 * an `applying` one and finishes a `reverting` one. Run one transaction per base folder at a time, because each would
 * treat the other's changes as conflicts.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ChangeFailure, type ChangeOutcome, failureOf } from "./change-outcome.ts";
import type { EntryStamp } from "./entry-state.ts";
import { type Execution, executeChanges } from "./execute-changes.ts";
import {
  entryFolder,
  type JournalChange,
  type JournalEntry,
  removeEntry,
  syncPath,
  writeChanges,
  writeEntry,
} from "./journal-entry.ts";
import { createFolderCursor, openRoot } from "./open-folder.ts";
import { createPace, type Pace } from "./pace.ts";
import { decodePath, encodeBytes, type RawPath } from "./raw-path.ts";
import { foldersToOpen, type Staged, type Staging, type StampedChange, stageChanges } from "./stage-changes.ts";
import { isSameFileSystem, openStaging, removeStaging } from "./staging-area.ts";

const maxRevertTries = 3;

export interface TransactionOptions {
  journal: string;
  id: string;
  kind: JournalEntry["kind"];
  base: string;
  changes: readonly StampedChange[];
  provide: Staging["provide"];
  onStep?: ((step: string) => void) | undefined;
}

/** `notRestored` lists paths that could not be put back: somebody else changed them, or the disk failed again. */
export type TransactionResult =
  | { type: "done"; entry: JournalEntry }
  | { type: "conflict"; paths: RawPath[]; notRestored: RawPath[] }
  | (ChangeFailure & { notRestored: RawPath[] });

/** Can be aborted until it starts to change the base folder. A journal entry with this id must not exist yet. */
export async function runTransaction(options: TransactionOptions, signal: AbortSignal): Promise<TransactionResult> {
  const { journal, onStep } = options;
  const entry = newEntry(options);
  const folder = entryFolder(journal, entry.id);
  try {
    await mkdir(journal, { recursive: true, mode: 0o700 });
    await mkdir(folder, { mode: 0o700 });
  } catch (thrown) {
    return { ...failureOf(thrown, ""), notRestored: [] };
  }
  let staged: Staged;
  try {
    staged = await prepare(options, entry, createPace(signal));
    signal.throwIfAborted();
  } catch (thrown) {
    if (signal.aborted) await dropEntry(journal, entry);
    throw thrown;
  }
  if (staged.type !== "staged") {
    await dropEntry(journal, entry);
    return { ...staged, notRestored: [] };
  }
  onStep?.("staged");
  try {
    await writeEntry(journal, { ...entry, state: "applying" });
  } catch (thrown) {
    await dropEntry(journal, entry);
    return { ...failureOf(thrown, ""), notRestored: [] };
  }
  onStep?.("applying");
  const outcome = await execute({ ...options, entry, direction: "forward", stamps: staged.stamps });
  const ended = outcome.type === "ok" ? await tryFinish(options, entry) : outcome;
  if (ended.type === "done") return ended;
  return { ...ended, notRestored: await revert({ ...options, entry }, ended) };
}

function newEntry({ id, kind, base, changes }: TransactionOptions): JournalEntry {
  const bytes = changes.reduce((sum, { from }) => sum + (from.type === "file" ? from.bytes : 0), 0);
  const at = Date.now();
  return {
    version: 1,
    id,
    kind,
    base,
    state: "preparing",
    at,
    paths: changes.length,
    bytes,
    isElsewhere: false,
    opened: [],
  };
}

async function prepare(options: TransactionOptions, entry: JournalEntry, pace: Pace): Promise<Staged> {
  const { journal, base, changes, kind, provide, onStep } = options;
  const folder = entryFolder(journal, entry.id);
  try {
    entry.isElsewhere = !isSameFileSystem(folder, base);
    const cursor = createFolderCursor(base, "peek");
    try {
      entry.opened = foldersToOpen(cursor, changes);
      await writeEntry(journal, entry);
      await writeChanges(folder, changes, pace);
      onStep?.("prepared");
      const area = openStaging(journal, entry);
      const saved = await openSaved(folder, entry.isElsewhere && kind === "keep");
      try {
        return await stageChanges({ changes, area, base: cursor, saved, provide, pace, onStep });
      } finally {
        saved?.close();
        area.close();
      }
    } finally {
      cursor.close();
    }
  } catch (thrown) {
    return failureOf(thrown, "");
  }
}

async function openSaved(folder: string, isNeeded: boolean) {
  if (!isNeeded) return undefined;
  const path = join(folder, "before");
  await mkdir(path, { mode: 0o700 });
  return openRoot(path, "read");
}

async function tryFinish(
  { journal, changes, onStep }: TransactionOptions,
  entry: JournalEntry,
): Promise<{ type: "done"; entry: JournalEntry } | ChangeFailure> {
  try {
    return { type: "done", entry: await finish(journal, entry, changes, onStep) };
  } catch (thrown) {
    return failureOf(thrown, "");
  }
}

export interface JournalWork {
  journal: string;
  entry: JournalEntry;
  changes: readonly JournalChange[];
  onStep?: TransactionOptions["onStep"];
}

export async function execute(
  work: JournalWork & Pick<Execution, "direction"> & { stamps?: readonly (EntryStamp | undefined)[] },
): Promise<ChangeOutcome> {
  const { journal, entry, changes, direction, stamps, onStep } = work;
  try {
    const area = openStaging(journal, entry);
    try {
      const base = createFolderCursor(entry.base, "force", true);
      try {
        const { opened } = entry;
        const execution = { changes, opened, direction, area, base, pace: createPace(), onStep };
        return await executeChanges(stamps === undefined ? execution : { ...execution, stamps });
      } finally {
        base.close();
      }
    } finally {
      area.close();
    }
  } catch (thrown) {
    return failureOf(thrown, "");
  }
}

export async function finish(
  journal: string,
  entry: JournalEntry,
  changes: readonly JournalChange[],
  onStep?: TransactionOptions["onStep"],
): Promise<JournalEntry> {
  await syncFolders(entry.base, changes);
  const done: JournalEntry = { ...entry, state: "done" };
  await writeEntry(journal, done);
  onStep?.("done");
  // The next startup's recovery removes the rest.
  await removeStaging(journal, done).catch((thrown) => failureOf(thrown, ""));
  return done;
}

export async function revert(work: JournalWork, cause: ChangeOutcome): Promise<RawPath[]> {
  const { journal, entry, changes, onStep } = work;
  // Ignore failures, for example on a full disk: after a crash, recovery then completes the changes instead.
  await writeEntry(journal, { ...entry, state: "reverting" }).catch((thrown) => failureOf(thrown, ""));
  onStep?.("reverting");
  let outcome = await execute({ ...work, direction: "back" });
  // A conflict may be temporary, for example while somebody uses a folder.
  for (let tries = 1; tries < maxRevertTries && outcome.type === "conflict"; tries++) {
    outcome = await execute({ ...work, direction: "back" });
  }
  if (outcome.type === "failed") return [outcome.path];
  await syncFolders(entry.base, changes);
  const foreign = cause.type === "conflict" ? cause.paths : [];
  const notRestored = outcome.type === "ok" ? [] : outcome.paths.filter((path) => !foreign.includes(path));
  if (notRestored.length === 0) await dropEntry(journal, entry);
  else await writeEntry(journal, { ...entry, state: "incomplete" });
  return notRestored;
}

export async function dropEntry(journal: string, entry: JournalEntry): Promise<void> {
  await removeStaging(journal, entry);
  await removeEntry(journal, entry.id);
}

async function syncFolders(base: string, changes: readonly JournalChange[]): Promise<void> {
  const cursor = createFolderCursor(base, "peek");
  const seen = new Set<string>();
  try {
    for (const { path } of changes) {
      const parts = decodePath(path).slice(0, -1);
      const key = parts.map(encodeBytes).join("/");
      if (seen.has(key)) continue;
      seen.add(key);
      const folder = cursor.at(parts);
      if (folder !== undefined) await syncPath(`/proc/self/fd/${folder.fd}`);
    }
  } finally {
    cursor.close();
  }
}
