/** Plans the merge of a copied folder: compares the copy with base and layer, file by file. */
import type { BigIntStats } from "node:fs";
import { isSameEntry, modeOf } from "./entry-state.ts";
import { createWalkCounter, type WalkLimits } from "./limits.ts";
import { isInLower, type LowerFolders, lowerNames, openLower } from "./lower-folders.ts";
import { type MergeEntry, type MergeFolders, type MergePlan, specialType } from "./merge-entry.ts";
import { type OpenFolder, openChild, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { joinPath, type RawPath } from "./raw-path.ts";

interface Level extends LowerFolders {
  merged: OpenFolder;
}

export async function planCopyMerge(
  folders: MergeFolders,
  signal: AbortSignal,
  limits: WalkLimits,
): Promise<MergePlan> {
  const pace = createPace(signal);
  const counter = createWalkCounter(limits);
  const plan: MergePlan = { type: "plan", source: "copy", entries: [], ignored: [] };

  function add(entry: MergeEntry) {
    counter.count();
    plan.entries.push(entry);
  }

  async function walk(level: Level, path: RawPath, depth: number) {
    counter.checkDepth(depth);
    const names = level.merged.names();
    const shown = new Set(names.map((name) => name.toString("latin1")));
    for (const name of names) {
      if (pace.isDue()) await pace.rest();
      const stat = level.merged.stat(name);
      if (stat !== undefined) await compare(level, name, stat, joinPath(path, name), depth);
    }
    for (const name of lowerNames(level)) {
      if (!shown.has(name.toString("latin1"))) add({ path: joinPath(path, name), action: "delete" });
    }
  }

  async function compare(level: Level, name: Buffer, stat: BigIntStats, path: RawPath, depth: number) {
    const below = lowerFolder(level, name);
    if (stat.isDirectory()) return compareFolder(level, name, stat, path, depth);
    if (!stat.isFile() && !stat.isSymbolicLink()) {
      counter.count();
      plan.ignored.push({ path, type: specialType(stat) });
      if (below?.stat(name) !== undefined) add({ path, action: "delete" });
      return;
    }
    const isSame =
      below !== undefined && (await isSameEntry({ folder: level.merged, name }, { folder: below, name }, pace));
    if (!isSame) counter.countBytes(stat.size);
    if (!isSame) add({ path, action: "write", type: stat.isFile() ? "file" : "link", isNew: !isInLower(level, name) });
  }

  async function compareFolder(level: Level, name: Buffer, stat: BigIntStats, path: RawPath, depth: number) {
    const before = lowerFolder(level, name)?.stat(name);
    const isSame = before?.isDirectory() === true && modeOf(before) === modeOf(stat);
    const entriesBefore = plan.entries.length;
    add({ path, action: "write", type: "folder", mode: modeOf(stat), isNew: !isInLower(level, name) });
    const merged = openChild(level.merged, name);
    const lower = openLower(level, name);
    try {
      if (merged !== undefined) await walk({ merged, ...lower }, path, depth + 1);
    } finally {
      for (const folder of [lower.base, lower.layer, merged]) folder?.close();
    }
    if (isSame && plan.entries.length === entriesBefore + 1) plan.entries.pop();
  }

  const root = {
    merged: openRoot(folders.merged, "peek"),
    layer: openRoot(folders.layer, "peek"),
    base: openRoot(folders.base, "peek"),
  };
  try {
    await walk(root, "", 0);
  } finally {
    for (const folder of Object.values(root)) folder.close();
  }
  return plan;
}

/** Returns the layer if it has an entry of this name, otherwise the base. A whiteout equals no other entry. */
function lowerFolder({ layer, base }: Level, name: Buffer): OpenFolder | undefined {
  return layer?.stat(name) === undefined ? base : layer;
}
