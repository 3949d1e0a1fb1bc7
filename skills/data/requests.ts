/** Messages between the tools and the isolated process (data-process.ts). Structured clone can send all values. */
import type { ChartRequest } from "./chart/chart-request.ts";

/** The process inherits the file descriptor and opens no file by name. */
export interface DataFile {
  name: string;
  descriptor: number;
  size: number;
  format: "csv" | "json" | "json-lines";
}

/** Absent options are detected from the file. */
export interface CsvOptions {
  delimiter?: string;
  /** If false, the first line is data and the columns are named c1, c2, … */
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
  /** `fonts` are descriptors of open font files. */
  | { type: "chart"; source: Source; sql: string | undefined; chart: ChartRequest; fonts: number[] };

export type DataAnswer =
  | { type: "text"; text: string }
  | { type: "saved"; text: string; content: Uint8Array; rows: number }
  | { type: "picture"; text: string; png: Uint8Array }
  | { type: "problem"; text: string };
