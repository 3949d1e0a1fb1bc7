/** Rows of a query, as its process hands them on. */

export interface Rows {
  columns: string[];
  /** Up to as many as asked for. */
  rows: Value[][];
  /** All there are, up to `mostCounted`. */
  count: number;
  isCounted: boolean;
}

export type Value = string | number | bigint | Uint8Array | null;
