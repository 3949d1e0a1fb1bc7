/** After a merge, removes from the layer what equals the base, because restoring a file's old content is no change. */
import { rmdirSync, unlinkSync } from "node:fs";
import { isSameEntry, isWhiteout, modeOf } from "./entry-state.ts";
import type { MergeEntry, MergePlan } from "./merge-entry.ts";
import type { FolderCursor, OpenFolder } from "./open-folder.ts";
import type { Pace } from "./pace.ts";
import { decodePath } from "./raw-path.ts";

export interface PruneFolders {
  layer: FolderCursor;
  base: FolderCursor;
  pace: Pace;
}

/** Checks only the plan's paths, deepest first. For folders, compares the mode that the plan sets. */
export async function pruneMerged(plan: MergePlan, { layer, base, pace }: PruneFolders): Promise<void> {
  for (const entry of plan.entries.toReversed()) {
    if (pace.isDue()) await pace.rest();
    const parts = decodePath(entry.path);
    const name = parts.pop() as Buffer;
    const folder = layer.at(parts);
    if (folder !== undefined) await pruneEntry(entry, name, folder, base.at(parts), pace);
  }
}

async function pruneEntry(
  entry: MergeEntry,
  name: Buffer,
  folder: OpenFolder,
  base: OpenFolder | undefined,
  pace: Pace,
): Promise<void> {
  const found = folder.stat(name);
  if (found === undefined) return;
  if (isWhiteout(found)) {
    if (base?.stat(name) === undefined) unlinkSync(folder.path(name));
    return;
  }
  if (base === undefined) return;
  if (!found.isDirectory()) {
    if (await isSameEntry({ folder, name }, { folder: base, name }, pace)) unlinkSync(folder.path(name));
    return;
  }
  const inBase = base.stat(name);
  const mode = entry.action === "write" && entry.type === "folder" ? entry.mode : modeOf(found);
  if (inBase?.isDirectory() && modeOf(inBase) === mode) removeIfEmpty(folder.path(name));
}

function removeIfEmpty(path: Buffer): void {
  try {
    rmdirSync(path);
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ENOTEMPTY")) throw thrown;
  }
}
