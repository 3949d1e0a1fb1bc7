/** What `planMerge` finds and `applyMerge` does. */
import type { BigIntStats } from "node:fs";
import type { RawPath } from "./raw-path.ts";

export type MergeEntry =
  | { path: RawPath; action: "write"; type: "folder"; mode: number }
  | { path: RawPath; action: "write"; type: "file" | "link" }
  | { path: RawPath; action: "delete" };

/** What a layer can't hold: a path, and what is there. */
export interface IgnoredEntry {
  path: RawPath;
  type: "socket" | "pipe" | "device";
}

export interface MergePlan {
  type: "plan";
  /** `overlay`: files are moved from the view's upper folder. `copy`: they are copied from its merged folder. */
  source: "overlay" | "copy";
  /** A folder comes before what is in it; the folders above every entry are entries too. */
  entries: MergeEntry[];
  ignored: IgnoredEntry[];
}

export interface MergeFolders {
  /** The folder as the view shows it. */
  merged: string;
  /** The view's upper folder; undefined where the folder was copied. */
  upper: string | undefined;
  base: string;
  /** Of the draft; it must exist. */
  layer: string;
}

export function specialType(stat: BigIntStats): IgnoredEntry["type"] {
  if (stat.isSocket()) return "socket";
  return stat.isFIFO() ? "pipe" : "device";
}
