/** A kind of stored data with a retention: how much there is, and what may go. */
import type { InUse } from "./in-use.ts";

export interface Amount {
  items: number;
  bytes: number;
}

export interface RetentionKind {
  /** As people read it, such as `task files`. */
  name: string;
  /** Null: kept until people delete it. */
  days: number | null;
  size(): Promise<Amount>;
  /**
   * Removes what was last used before `before` (milliseconds since 1970) and what nothing needs any more. With `isDryRun`, only
   * counts it. Must keep everything in `inUse`.
   */
  prune(before: number, inUse: InUse, isDryRun: boolean): Promise<Amount>;
}

export const nothing: Amount = { items: 0, bytes: 0 };

export function sumOf(...amounts: Amount[]): Amount {
  return amounts.reduce((sum, { items, bytes }) => ({ items: sum.items + items, bytes: sum.bytes + bytes }), nothing);
}
