/** Limits of drafts, and how a walk over too large a tree ends. */

import { formatBytes } from "../../lib/text/format-bytes.ts";

export interface WalkLimits {
  /** Paths that one plan, list or journal may name. */
  maxPaths: number;
  /** Folders inside folders. */
  maxDepth: number;
  /** Of all files that were written, holes too: a file of nothing but holes is read like any other. */
  maxBytes: number;
}

export const defaultWalkLimits: WalkLimits = { maxPaths: 100_000, maxDepth: 200, maxBytes: 4 * 1024 ** 3 };

/** Above these, effects are always asked about. */
export const defaultAskFiles = 2_000;
export const defaultAskBytes = 200 * 1024 * 1024;

/** What is over a limit is not listed; `paths` is how many were seen until then. */
export interface TooLarge {
  type: "too-large";
  limit: keyof WalkLimits;
  paths: number;
}

/** A sentence for people and models. */
export function tooLargeReason({ limit }: TooLarge, limits: WalkLimits = defaultWalkLimits): string {
  switch (limit) {
    case "maxPaths":
      return `More than ${limits.maxPaths.toLocaleString("en")} files were changed.`;
    case "maxDepth":
      return `Folders were changed that lie more than ${limits.maxDepth} folders deep.`;
    case "maxBytes":
      return `The changed files have more than ${formatBytes(limits.maxBytes)} together.`;
    default:
      return limit satisfies never;
  }
}

/** Counts a walk; `withinLimits` turns what it throws into a value. */
export interface WalkCounter {
  count(): void;
  countBytes(bytes: bigint): void;
  checkDepth(depth: number): void;
}

class LimitExceeded extends Error {
  readonly limit: keyof WalkLimits;
  readonly paths: number;

  constructor(limit: keyof WalkLimits, paths: number) {
    super(`over the limit ${limit}`);
    this.limit = limit;
    this.paths = paths;
  }
}

export function createWalkCounter(limits: WalkLimits): WalkCounter {
  let paths = 0;
  let bytes = 0;
  return {
    count() {
      if (++paths > limits.maxPaths) throw new LimitExceeded("maxPaths", paths);
    },
    countBytes(more) {
      bytes += Number(more);
      if (bytes > limits.maxBytes) throw new LimitExceeded("maxBytes", paths);
    },
    checkDepth(depth) {
      if (depth > limits.maxDepth) throw new LimitExceeded("maxDepth", paths);
    },
  };
}

export async function withinLimits<T>(work: () => Promise<T>): Promise<T | TooLarge> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof LimitExceeded) return { type: "too-large", limit: thrown.limit, paths: thrown.paths };
    throw thrown;
  }
}
