/** Messages between the tools and the isolated process (data-process.ts). All values can be cloned. */
import type { ChartRequest } from "./chart/chart-request.ts";

/** An open file. The process gets its descriptor and opens nothing by name. */
export interface DataFile {
  name: string;
  descriptor: number;
  size: number;
  format: "csv" | "json" | "json-lines";
}

/** How to read CSV files. Absent options are detected. */
export interface CsvOptions {
  delimiter?: string;
  /** False: the first line is data, and the columns are c1, c2, … */
  hasHeader: boolean;
  skippedLines: number;
}

export interface Source {
  files: DataFile[];
  csv: CsvOptions;
}

export type SavedFormat = "csv" | "tsv" | "json" | "json-lines" | "markdown";

export type DataRequest =
  | { type: "describe"; source: Source }
  | { type: "query"; source: Source; sql: string; rows: number; save: SavedFormat | undefined }
  /** `fonts`: descriptors of open font files. */
  | { type: "chart"; source: Source; sql: string | undefined; chart: ChartRequest; fonts: number[] };

export type DataAnswer =
  | { type: "text"; text: string }
  | { type: "saved"; text: string; content: Uint8Array; rows: number }
  | { type: "picture"; text: string; png: Uint8Array }
  | { type: "problem"; text: string };
