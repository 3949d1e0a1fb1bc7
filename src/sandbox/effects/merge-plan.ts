/** Finds what one command changed. Write the plan to disk before applying it, to repeat the merge after a crash. */
import type { BigIntStats } from "node:fs";
import { planCopyMerge } from "./copy-merge-plan.ts";
import { isWhiteout, modeOf } from "./entry-state.ts";
import { createWalkCounter, defaultWalkLimits, type TooLarge, type WalkLimits, withinLimits } from "./limits.ts";
import { isInLower, type LowerFolders, lowerNames, openLower } from "./lower-folders.ts";
import { type MergeEntry, type MergeFolders, type MergePlan, specialType } from "./merge-entry.ts";
import { type OpenFolder, openChild, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { joinPath, type RawPath } from "./raw-path.ts";

/** Call it while the view is open. Changes nothing. */
export function planMerge(
  folders: MergeFolders,
  signal: AbortSignal,
  limits: WalkLimits = defaultWalkLimits,
): Promise<MergePlan | TooLarge> {
  return withinLimits(async () => {
    const { upper } = folders;
    if (upper === undefined) return planCopyMerge(folders, signal, limits);
    return planOverlayMerge({ ...folders, upper }, signal, limits);
  });
}

interface Level extends LowerFolders {
  upper: OpenFolder;
  merged: OpenFolder | undefined;
}

async function planOverlayMerge(
  folders: MergeFolders & { upper: string },
  signal: AbortSignal,
  limits: WalkLimits,
): Promise<MergePlan> {
  const pace = createPace(signal);
  const counter = createWalkCounter(limits);
  const plan: MergePlan = { type: "plan", source: "overlay", entries: [], ignored: [] };

  function add(entry: MergeEntry) {
    counter.count();
    plan.entries.push(entry);
  }

  function addFile(level: Level, name: Buffer, stat: BigIntStats, path: RawPath) {
    if (stat.isFile()) counter.countBytes(stat.size);
    const isNew = !isInLower(level, name);
    add({ path, action: "write", type: stat.isFile() ? "file" : "link", isNew });
  }

  async function walk(level: Level, path: RawPath, depth: number, hidesLower: boolean) {
    counter.checkDepth(depth);
    const seen = new Set<string>();
    for (const name of level.upper.names()) {
      if (pace.isDue()) await pace.rest();
      const stat = level.upper.stat(name);
      if (stat === undefined) continue;
      seen.add(name.toString("latin1"));
      const child = joinPath(path, name);
      if (isWhiteout(stat)) add({ path: child, action: "delete" });
      else if (stat.isDirectory()) await walkFolder(level, name, stat, child, depth);
      else if (stat.isFile() || stat.isSymbolicLink()) addFile(level, name, stat, child);
      else addIgnored(stat, child);
    }
    if (!hidesLower) return;
    for (const name of hiddenNames(level)) {
      if (!seen.has(name.toString("latin1"))) add({ path: joinPath(path, name), action: "delete" });
    }
  }

  async function walkFolder(level: Level, name: Buffer, stat: BigIntStats, path: RawPath, depth: number) {
    add({ path, action: "write", type: "folder", mode: modeOf(stat), isNew: !isInLower(level, name) });
    const mergedStat = level.merged?.stat(name);
    // Overlayfs reports a link count of 1 for a merged folder and a higher one for an opaque folder. On btrfs,
    // every folder has one link, so the names in the lower folders are always compared there.
    const isMerged = mergedStat?.nlink === 1n && stat.nlink > 1n;
    const merged = level.merged && openChild(level.merged, name);
    const upper = openChild(level.upper, name);
    const lower = openLower(level, name);
    try {
      if (upper !== undefined) await walk({ upper, merged, ...lower }, path, depth + 1, !isMerged);
    } finally {
      for (const folder of [lower.base, lower.layer, upper, merged]) folder?.close();
    }
  }

  function addIgnored(stat: BigIntStats, path: RawPath) {
    counter.count();
    plan.ignored.push({ path, type: specialType(stat) });
    // The entry that the special file replaced is gone, even though the special file is ignored.
    add({ path, action: "delete" });
  }

  const root = {
    upper: openRoot(folders.upper, "peek"),
    merged: openRoot(folders.merged, "peek"),
    layer: openRoot(folders.layer, "peek"),
    base: openRoot(folders.base, "peek"),
  };
  try {
    await walk(root, "", 0, false);
  } finally {
    for (const folder of Object.values(root)) folder.close();
  }
  return plan;
}

function hiddenNames({ merged, layer, base }: Level): Buffer[] {
  const shown = new Set(merged?.names().map((name) => name.toString("latin1")));
  return lowerNames({ layer, base }).filter((name) => !shown.has(name.toString("latin1")));
}
