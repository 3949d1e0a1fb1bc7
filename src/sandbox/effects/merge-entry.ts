/** The plan that `planMerge` creates and `applyMerge` applies. */
import type { BigIntStats } from "node:fs";
import type { RawPath } from "./raw-path.ts";

export type MergeEntry =
  | { path: RawPath; action: "write"; type: "folder"; mode: number }
  | { path: RawPath; action: "write"; type: "file" | "link" }
  | { path: RawPath; action: "delete" };

export interface IgnoredEntry {
  path: RawPath;
  type: "socket" | "pipe" | "device";
}

export interface MergePlan {
  type: "plan";
  /** For `overlay`, files are moved from the view's upper folder. For `copy`, they are copied from its merged folder. */
  source: "overlay" | "copy";
  /** A folder comes before its contents. All parent folders of an entry are entries too. */
  entries: MergeEntry[];
  ignored: IgnoredEntry[];
}

export interface MergeFolders {
  merged: string;
  upper: string | undefined;
  base: string;
  /** The draft's layer; must exist. */
  layer: string;
}

export function specialType(stat: BigIntStats): IgnoredEntry["type"] {
  if (stat.isSocket()) return "socket";
  return stat.isFIFO() ? "pipe" : "device";
}
