/** What goes between the tools and the process that does their work (data-process.ts). Everything in it can be cloned. */
import type { ChartRequest } from "./chart/chart-request.ts";

/** A file that is open: the process finds it as a descriptor and reads nothing by name. */
export interface DataFile {
  /** As the person or model named it. */
  name: string;
  descriptor: number;
  size: number;
  format: "csv" | "json" | "json-lines";
}

/** How the lines of CSV files are read; absent: it is found out. */
export interface CsvOptions {
  delimiter?: string;
  /** False: the first line is data, and columns are called c1, c2, … */
  hasHeader: boolean;
  /** Lines before the header to pass over. */
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
  /** The data, the SQL or the chart's options are wrong: what and what to do. */
  | { type: "problem"; text: string };
