/** Requests to the isolated process that reads documents, and its answers; see document-process.ts. */
import type { FileLook } from "../../ports/file-inspector.ts";
import type { Content } from "./content-type.ts";

export type DocumentRequest =
  | { type: "inspect"; file: DocumentFile }
  | { type: "pages"; file: DocumentFile; range: PageRange };

export interface DocumentFile {
  descriptor: number;
  size: number;
  content: Content;
  /** The file extension, which distinguishes text formats that look alike, such as `.csv` and `.md`. */
  ending: string;
}

/** All numbers start at 1. Lines are counted within the requested pages. */
export interface PageRange {
  firstPage: number;
  lastPage: number;
  firstLine: number;
  lines: number;
}

export type DocumentAnswer = { type: "look"; look: FileLook } | DocumentText;

export type DocumentText = DocumentPages | { type: "problem"; message: string };

export interface DocumentPages {
  type: "pages";
  /** What the document is divided into. Documents without stored page breaks are divided into parts. */
  unit: "page" | "sheet" | "slide" | "part";
  /** The document's number of units. */
  count: number;
  firstPage: number;
  /** Lower than requested if the text reached its size limit. */
  lastPage: number;
  /** The names of all sheets, up to a limit; empty for other units. */
  names: string[];
  firstLine: number;
  lastLine: number;
  /** Number of lines in all these pages. */
  totalLines: number;
  text: string;
}
