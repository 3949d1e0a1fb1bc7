/** Stores old versions of changed files for a limited time and size. Undo is final, and requires unchanged files. */
import { linkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import { copyEntry } from "./copy-entry.ts";
import { isSameState, readEntry } from "./entry-state.ts";
import {
  entryFolder,
  entryIds,
  type JournalChange,
  type JournalEntry,
  readChanges,
  readEntryFile,
  removeEntry,
  undoId,
} from "./journal-entry.ts";
import { createFolderCursor, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { decodePath, displayPath } from "./raw-path.ts";
import { endUndo, recoverEntry } from "./recover-keeps.ts";
import type { StampedChange } from "./stage-changes.ts";
import { nameAt } from "./staging-area.ts";
import { runTransaction, type TransactionOptions } from "./transaction.ts";
import { type UndoEntry, undoEntryOf } from "./undo-entry.ts";

export interface UndoJournalOptions {
  maxAgeMs?: number;
  maxBytes?: number;
  onStep?: TransactionOptions["onStep"];
}

export type UndoResult =
  | { type: "undone"; entry: UndoEntry }
  | { type: "unknown" }
  /** Nothing is undone, because `paths` have changed since the changes were kept. */
  | { type: "changed-since"; paths: string[] }
  | { type: "failed"; path: string; reason: string; notRestored: string[] };

export interface UndoJournal {
  /** Lists entries, newest first, of `base` or of all folders. */
  list(base?: string): Promise<UndoEntry[]>;
  /** Can be aborted until it starts to change the base folder. Repeating a finished undo returns `unknown`. */
  undo(id: string, signal: AbortSignal): Promise<UndoResult>;
  /** Removes entries that are too old, then the oldest while the total is too large, except the newest. */
  prune(now: number): Promise<UndoEntry[]>;
}

const defaultMaxUndoAgeMs = 7 * 24 * 60 * 60 * 1_000;
const defaultMaxUndoBytes = 1024 ** 3;

export function createUndoJournal(
  folder: string,
  { maxAgeMs = defaultMaxUndoAgeMs, maxBytes = defaultMaxUndoBytes, onStep }: UndoJournalOptions = {},
): UndoJournal {
  async function readAll(): Promise<JournalEntry[]> {
    const entries = await Promise.all((await entryIds(folder)).map((id) => readEntryFile(folder, id)));
    return entries.filter((entry) => entry !== undefined).toSorted((one, other) => other.at - one.at);
  }

  return {
    async list(base) {
      const kept = (await readAll()).filter(({ state, kind }) => state === "done" && kind === "keep");
      return kept.filter((entry) => base === undefined || entry.base === base).map(undoEntryOf);
    },

    async undo(id, signal) {
      await recoverEntry(folder, undoId(id));
      const entry = await readEntryFile(folder, id);
      if (entry?.state !== "done" || entry.kind !== "keep") return { type: "unknown" };
      return undoEntry(folder, entry, onStep, signal);
    },

    async prune(now) {
      const entries = (await readAll()).filter(({ state }) => state === "done" || state === "incomplete");
      let bytes = 0;
      const removed: UndoEntry[] = [];
      for (const [at, entry] of entries.entries()) {
        bytes += entry.bytes;
        const isTooOld = now - entry.at > maxAgeMs;
        if (!isTooOld && (bytes <= maxBytes || at === 0)) continue;
        await removeEntry(folder, entry.id);
        removed.push(undoEntryOf(entry));
      }
      return removed;
    },
  };
}

async function undoEntry(
  journal: string,
  entry: JournalEntry,
  onStep: TransactionOptions["onStep"],
  signal: AbortSignal,
): Promise<UndoResult> {
  const kept = await readChanges(journal, entry.id);
  const { changes, changed } = await readInverse(entry.base, kept, signal);
  if (changed.length > 0) return { type: "changed-since", paths: changed.map(displayPath) };
  const path = join(entryFolder(journal, entry.id), "before");
  await mkdir(path, { recursive: true });
  const before = openRoot(path, "read");
  try {
    const provide: TransactionOptions["provide"] = async (index, target, name) => {
      try {
        linkSync(before.path(nameAt(index)), target.path(name));
      } catch (thrown) {
        if (!["EXDEV", "EPERM", "EMLINK"].includes(codeOf(thrown) ?? "")) throw thrown;
        await copyEntry({ folder: { ...before, access: "peek" }, name: nameAt(index) }, target.path(name));
      }
    };
    const { base } = entry;
    const transaction = { journal, id: undoId(entry.id), kind: "undo", base, changes, provide, onStep } as const;
    const result = await runTransaction(transaction, signal);
    switch (result.type) {
      case "done":
        await endUndo(journal, result.entry);
        return { type: "undone", entry: undoEntryOf(entry) };
      case "conflict":
        return { type: "changed-since", paths: result.paths.map(displayPath) };
      case "failed": {
        const { reason, notRestored } = result;
        return { type: "failed", path: displayPath(result.path), reason, notRestored: notRestored.map(displayPath) };
      }
      default:
        return result satisfies never;
    }
  } finally {
    before.close();
  }
}

async function readInverse(
  base: string,
  kept: readonly JournalChange[],
  signal: AbortSignal,
): Promise<{ changes: StampedChange[]; changed: string[] }> {
  const pace = createPace(signal);
  const cursor = createFolderCursor(base, "peek");
  const changes: StampedChange[] = [];
  const changed: string[] = [];
  try {
    for (const { path, from, to, owner } of kept) {
      if (pace.isDue()) await pace.rest();
      const parts = decodePath(path);
      const name = parts.pop() as Buffer;
      const folder = cursor.at(parts);
      const found = folder && (await readEntry(folder, name, pace));
      if (!isSameState(found?.state ?? { type: "absent" }, to)) changed.push(path);
      changes.push({ path, from: to, to: from, owner, stamp: found?.stamp });
    }
  } finally {
    cursor.close();
  }
  return { changes, changed };
}
