/** The plan that `planMerge` creates and `applyMerge` applies. */
import type { BigIntStats } from "node:fs";
import type { RawPath } from "./raw-path.ts";

/** `isNew`: nothing had this name before the command. */
export type MergeEntry =
  | { path: RawPath; action: "write"; type: "folder"; mode: number; isNew: boolean }
  | { path: RawPath; action: "write"; type: "file" | "link"; isNew: boolean }
  | { path: RawPath; action: "delete" };

export interface IgnoredEntry {
  path: RawPath;
  type: "socket" | "pipe" | "device";
}

export interface MergePlan {
  type: "plan";
  /** An `overlay` plan moves files from the view's upper folder. A `copy` plan copies them from its merged folder. */
  source: "overlay" | "copy";
  /** Folders come before their contents. An entry's parent folders are entries too. */
  entries: MergeEntry[];
  ignored: IgnoredEntry[];
}

export interface MergeFolders {
  merged: string;
  upper: string | undefined;
  base: string;
  layer: string;
}

export function specialType(stat: BigIntStats): IgnoredEntry["type"] {
  if (stat.isSocket()) return "socket";
  return stat.isFIFO() ? "pipe" : "device";
}
