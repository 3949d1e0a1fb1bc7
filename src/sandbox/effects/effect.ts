/** The effects of a draft, as cards and lists show them. */
import type { RawPath } from "./raw-path.ts";

export type EffectType = "file" | "folder" | "link" | "special";

export interface Effect {
  /** For people: without characters that hide or reorder. */
  path: string;
  raw: RawPath;
  action: "deleted" | "changed" | "added";
  /** After the change; of what was there, for a deletion. `special`: a socket, pipe or device that is deleted. */
  type: EffectType;
  /** When the type changes, such as a file that becomes a folder. */
  previousType?: EffectType;
  /** Of a file; of a folder, all files in it that are effects. 0 when deleted. */
  bytes: number;
  /** 0 when added. */
  previousBytes: number;
  /** Files and links in a deleted or added folder; 1 otherwise, 0 for a folder that only changes. */
  files: number;
  /** What happens to the mode, in words; may be empty. */
  notes: string[];
  /** Undefined for what is not text, or too large to compare. */
  linesAdded?: number;
  linesRemoved?: number;
  isBinary: boolean;
  linkTarget?: string;
  previousLinkTarget?: string;
  /** The topmost deleted or added folder above it, where lists may show that one alone. */
  within?: RawPath;
}

export interface EffectTotals {
  /** Files and links. */
  deleted: number;
  changed: number;
  added: number;
  /** Of all new contents. */
  bytes: number;
  linesAdded: number;
  linesRemoved: number;
}

export interface Effects {
  type: "effects";
  /** Deletions first, then changes, then additions, each by path. */
  effects: Effect[];
  totals: EffectTotals;
  /** Above the limits that are asked about. */
  isLarge: boolean;
  /** Binds an approval to the bytes of layer and base: `keepEffects` takes it. */
  hash: string;
}
