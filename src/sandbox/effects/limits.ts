/** Draft limits, and a counter that stops walking a tree that is too large. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";

export interface WalkLimits {
  maxPaths: number;
  maxDepth: number;
  /** Total size of written files. Holes in sparse files count, because they are read like other bytes. */
  maxBytes: number;
}

export const defaultWalkLimits: WalkLimits = { maxPaths: 100_000, maxDepth: 200, maxBytes: 4 * 1024 ** 3 };

/** Above these sizes, changes always need approval. */
export const defaultAskFiles = 2_000;
export const defaultAskBytes = 200 * 1024 * 1024;

export interface TooLarge {
  type: "too-large";
  limit: keyof WalkLimits;
  paths: number;
}

export function tooLargeReason({ limit }: TooLarge, limits: WalkLimits = defaultWalkLimits): string {
  switch (limit) {
    case "maxPaths":
      return `More than ${formatNumber(limits.maxPaths)} files were changed.`;
    case "maxDepth":
      return `Folders nested more than ${limits.maxDepth} levels deep were changed.`;
    case "maxBytes":
      return `The changed files are larger than ${formatBytes(limits.maxBytes)} in total.`;
    default:
      return limit satisfies never;
  }
}

/** Throws if a limit is exceeded. `withinLimits` turns the error into a value. */
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
