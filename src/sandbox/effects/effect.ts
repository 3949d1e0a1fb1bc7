/** The effects of a draft: what keeping it would change. */
import type { RawPath } from "./raw-path.ts";

export type EffectType = "file" | "folder" | "link" | "special";

export interface Effect {
  /** Meant for people, so hidden and reordering characters are escaped. */
  path: string;
  raw: RawPath;
  action: "deleted" | "changed" | "added";
  /** The type after the change, or before a deletion. `special` is a deleted socket, pipe or device. */
  type: EffectType;
  previousType?: EffectType;
  /** Size of the file, or of all changed files in the folder. 0 for a deletion. */
  bytes: number;
  previousBytes: number;
  /** Files and links in a deleted or added folder. 0 for a changed folder, and 1 for everything else. */
  files: number;
  notes: string[];
  linesAdded?: number;
  linesRemoved?: number;
  /** Less than half as many visible characters as before are left, however many bytes. Unknown without counted lines. */
  losesText?: true;
  /** No text: neither before nor after, nor by its name. `fileType` says what it is. */
  isBinary: boolean;
  fileType?: string;
  linkTarget?: string;
  previousLinkTarget?: string;
  /** The topmost deleted or added folder above the entry. A list may show only that folder. */
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
  /** Deletions first, then changes, then additions, each sorted by path. */
  effects: Effect[];
  totals: EffectTotals;
  isLarge: boolean;
  /** Hash of the changes in layer and base. Approvals are bound to it, and `keepEffects` checks it. */
  hash: string;
}
