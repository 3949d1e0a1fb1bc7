/** Applies a draft to its base folder: exactly the bytes that were approved, all or nothing. */
import { type BaseStamps, findChangedBase } from "./base-stamps.ts";
import { copyEntry } from "./copy-entry.ts";
import { isSameState } from "./entry-state.ts";
import { readEntryFile } from "./journal-entry.ts";
import { type DraftFolders, type LayerChange, readLayerChanges } from "./layer-changes.ts";
import { defaultWalkLimits, type TooLarge, type WalkLimits, withinLimits } from "./limits.ts";
import { createFolderCursor } from "./open-folder.ts";
import { decodePath, displayPath, type RawPath } from "./raw-path.ts";
import { recoverEntry } from "./recover-keeps.ts";
import { selectChanges } from "./select-changes.ts";
import { runTransaction, type TransactionOptions } from "./transaction.ts";
import { type UndoEntry, undoEntryOf } from "./undo-entry.ts";

export interface KeepOptions extends DraftFolders {
  /** The hash of the `Effects` that people saw. */
  expectedHash: string;
  /** Stamps of base at the time people saw the effects, to name files that have changed since. */
  stamps?: BaseStamps;
  paths?: readonly RawPath[];
  undoFolder: string;
  /** Only letters, digits, "-" and "_". Repeating the call with this id applies the changes only once. */
  id: string;
  limits?: WalkLimits;
  /** For tests, which throw here to simulate a crash. */
  onStep?: TransactionOptions["onStep"];
}

export type KeepResult =
  /** `left` lists changes that were not chosen and remain in the layer. `undo` is undefined if nothing changed. */
  | { type: "kept"; undo: UndoEntry | undefined; left: RawPath[] }
  /** Nothing is kept, because layer or base differs from what was shown. `paths` may be incomplete. */
  | { type: "changed"; paths: string[] }
  /** Nothing is kept. `notRestored` (usually empty) lists paths that could not be put back. */
  | { type: "failed"; path: string; reason: string; notRestored: string[] }
  | TooLarge;

/** Can be aborted until it starts to change the base folder. Must never change the layer. */
export function keepEffects(options: KeepOptions, signal: AbortSignal): Promise<KeepResult> {
  return withinLimits(async () => {
    const { undoFolder, id } = options;
    await recoverEntry(undoFolder, id);
    const earlier = await readEntryFile(undoFolder, id);
    if (earlier?.state === "done") return { type: "kept", undo: undoEntryOf(earlier), left: [] };
    if (earlier !== undefined)
      return { type: "failed", path: "", reason: "an earlier attempt has not finished", notRestored: [] };
    const found = await readLayerChanges(options, options.limits ?? defaultWalkLimits, signal);
    if (found.hash !== options.expectedHash) return { type: "changed", paths: await changedPaths(options, signal) };
    const { paths } = options;
    const { chosen, left } = paths ? selectChanges(found.changes, paths) : { chosen: found.changes, left: [] };
    const changes = chosen.filter(({ from, to }) => !isSameState(from, to));
    const leftPaths = left.map(({ path }) => path);
    if (changes.length === 0) return { type: "kept", undo: undefined, left: leftPaths };
    return keepChanges(options, changes, leftPaths, signal);
  });
}

async function keepChanges(
  options: KeepOptions,
  changes: LayerChange[],
  left: RawPath[],
  signal: AbortSignal,
): Promise<KeepResult> {
  const { base, layer, undoFolder, id, onStep } = options;
  const cursor = createFolderCursor(layer, "peek");
  try {
    const provide: TransactionOptions["provide"] = async (index, target, name) => {
      const parts = decodePath((changes[index] as LayerChange).path);
      const file = parts.pop() as Buffer;
      const folder = cursor.at(parts);
      if (folder === undefined) throw Object.assign(new Error("it is no longer in the draft"), { code: "ENOENT" });
      await copyEntry({ folder, name: file }, target.path(name));
    };
    const transaction = { journal: undoFolder, id, kind: "keep", base, changes, provide, onStep } as const;
    const result = await runTransaction(transaction, signal);
    switch (result.type) {
      case "done":
        return { type: "kept", undo: undoEntryOf(result.entry), left };
      case "conflict":
        return { type: "changed", paths: result.paths.map(displayPath) };
      case "failed": {
        const { path, reason, notRestored } = result;
        return { type: "failed", path: displayPath(path), reason, notRestored: notRestored.map(displayPath) };
      }
      default:
        return result satisfies never;
    }
  } finally {
    cursor.close();
  }
}

async function changedPaths({ base, stamps }: KeepOptions, signal: AbortSignal): Promise<string[]> {
  if (stamps === undefined) return [];
  return (await findChangedBase(base, stamps, signal)).map(displayPath);
}
