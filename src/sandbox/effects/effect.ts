/** The effects of a draft: what keeping it would change. */
import type { RawPath } from "./raw-path.ts";

export type EffectType = "file" | "folder" | "link" | "special";

export interface Effect {
  /** For people. Hidden and reordering characters are escaped. */
  path: string;
  raw: RawPath;
  action: "deleted" | "changed" | "added";
  /** The type after the change; for a deletion, the type before. `special` is a deleted socket, pipe or device. */
  type: EffectType;
  previousType?: EffectType;
  /** Size of the file, or of all changed files in the folder. 0 when deleted. */
  bytes: number;
  previousBytes: number;
  /** Files and links in a deleted or added folder; 1 otherwise, 0 for a folder that only changes. */
  files: number;
  notes: string[];
  linesAdded?: number;
  linesRemoved?: number;
  isBinary: boolean;
  linkTarget?: string;
  previousLinkTarget?: string;
  /** The topmost deleted or added folder above it. A list may show only that folder. */
  within?: RawPath;
}

export interface EffectTotals {
  deleted: number;
  changed: number;
  added: number;
  bytes: number;
  linesAdded: number;
  linesRemoved: number;
}

export interface Effects {
  type: "effects";
  /** Deletions first, then changes, then additions, each by path. */
  effects: Effect[];
  totals: EffectTotals;
  /** Whether the changes are too large to keep without asking. */
  isLarge: boolean;
  /** Binds an approval to the bytes of layer and base. Pass it to `keepEffects`. */
  hash: string;
}
