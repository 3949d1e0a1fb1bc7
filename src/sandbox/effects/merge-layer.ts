/**
 * Merges what one command wrote into the draft's layer, then prunes what equals the base. Every step can be repeated.
 * Must replace the layer's files and never write to them, because snapshots share them.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { RemoraError } from "../../lib/errors.ts";
import { copyEntry } from "./copy-entry.ts";
import { isWhiteout } from "./entry-state.ts";
import type { MergeEntry, MergePlan } from "./merge-entry.ts";
import { createFolderCursor, type FolderCursor, type OpenFolder } from "./open-folder.ts";
import { createPace, type Pace } from "./pace.ts";
import { pruneMerged } from "./prune-layer.ts";
import { decodePath } from "./raw-path.ts";
import { removeTree } from "./remove-tree.ts";
import { createWhiteoutMaker, type WhiteoutMaker } from "./whiteout.ts";

export interface MergeTarget {
  from: string;
  /** Must be on the upper folder's file system. */
  layer: string;
  base: string;
}

interface Merge {
  plan: MergePlan;
  from: FolderCursor;
  layer: FolderCursor;
  base: FolderCursor;
  /** Must be on the layer's file system. */
  scratch: string;
  whiteouts: WhiteoutMaker;
  pace: Pace;
}

/** Can't be aborted, because half a merge must not remain. If it rejects, the caller must repeat it. */
export async function applyMerge(plan: MergePlan, { from, layer, base }: MergeTarget): Promise<void> {
  const scratch = join(dirname(layer), `.${basename(layer)}.merging`);
  await removeTree(scratch);
  await mkdir(scratch, { mode: 0o700 });
  const merge: Merge = {
    plan,
    from: createFolderCursor(from, "restore"),
    layer: createFolderCursor(layer, "force"),
    base: createFolderCursor(base, "peek"),
    scratch,
    whiteouts: createWhiteoutMaker(scratch),
    pace: createPace(),
  };
  try {
    for (const entry of plan.entries) {
      if (merge.pace.isDue()) await merge.pace.rest();
      await mergeEntry(merge, entry);
    }
    await pruneMerged(plan, merge);
    setFolderModes(merge);
  } finally {
    for (const cursor of [merge.from, merge.layer, merge.base]) cursor.close();
    await removeTree(scratch);
  }
}

async function mergeEntry(merge: Merge, entry: MergeEntry): Promise<void> {
  const parts = decodePath(entry.path);
  const name = parts.pop() as Buffer;
  const folder = merge.layer.at(parts);
  if (entry.action === "delete") return deleteEntry(merge, folder, parts, name);
  if (folder === undefined) throw mismatch(entry.path);
  if (entry.type === "folder") return makeFolder(folder, name);
  const source = merge.from.at(parts);
  if (source?.stat(name) === undefined) {
    // An earlier attempt moved the file, and may have pruned it because base has the same content.
    const isMerged = folder.stat(name) !== undefined || merge.base.at(parts)?.stat(name) !== undefined;
    if (!isMerged) throw mismatch(entry.path);
    return;
  }
  if (folder.stat(name)?.isDirectory()) moveAside(merge, folder, name);
  if (merge.plan.source === "overlay") {
    renameSync(source.path(name), folder.path(name));
  } else {
    const copy = Buffer.from(join(merge.scratch, "copy"));
    rmSync(copy, { force: true });
    await copyEntry({ folder: source, name }, copy);
    renameSync(copy, folder.path(name));
  }
}

function moveAside({ scratch }: Merge, folder: OpenFolder, name: Buffer): void {
  // Moving a folder needs write permission on it.
  chmodSync(folder.path(name), 0o700);
  renameSync(folder.path(name), join(scratch, `removed-${randomBytes(8).toString("hex")}`));
}

function makeFolder(folder: OpenFolder, name: Buffer): void {
  const found = folder.stat(name);
  if (found?.isDirectory()) return;
  if (found !== undefined) unlinkSync(folder.path(name));
  mkdirSync(folder.path(name), { mode: 0o700 });
}

async function deleteEntry(merge: Merge, folder: OpenFolder | undefined, parts: Buffer[], name: Buffer): Promise<void> {
  if (folder === undefined) return;
  const found = folder.stat(name);
  if (found !== undefined && isWhiteout(found)) return;
  if (found?.isDirectory()) moveAside(merge, folder, name);
  else if (found !== undefined) unlinkSync(folder.path(name));
  if (merge.base.at(parts)?.stat(name) !== undefined) await merge.whiteouts.make(folder.path(name));
}

/** Deepest first, because a folder's mode may deny access to its contents. */
function setFolderModes({ plan, layer }: Merge): void {
  for (const entry of plan.entries.toReversed()) {
    if (entry.action !== "write" || entry.type !== "folder") continue;
    const parts = decodePath(entry.path);
    const name = parts.pop() as Buffer;
    const folder = layer.at(parts);
    if (folder?.stat(name)?.isDirectory()) chmodSync(folder.path(name), entry.mode);
  }
}

function mismatch(path: string): RemoraError {
  return new RemoraError({
    code: "effects.merge",
    place: "effects",
    message: `${JSON.stringify(path)} is in the merge plan, but neither the command's files nor the draft have it. Discard the draft`,
  });
}
