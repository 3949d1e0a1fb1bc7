/** The rows of a query, as the isolated process returns them. */

export interface Rows {
  columns: string[];
  rows: Value[][];
  /** The total number of rows, up to `maxCounted`. */
  count: number;
  isCounted: boolean;
}

export type Value = string | number | bigint | Uint8Array | null;
