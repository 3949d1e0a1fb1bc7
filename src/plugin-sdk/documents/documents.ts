/** What the isolated process that reads documents is asked and answers; see document-process.ts. */
import type { FileLook } from "../../ports/file-inspector.ts";
import type { Content } from "./content-type.ts";

export type DocumentRequest =
  | { type: "inspect"; file: DocumentFile }
  | { type: "pages"; file: DocumentFile; range: PageRange };

export interface DocumentFile {
  descriptor: number;
  size: number;
  content: Content;
  /** The file extension. It tells apart text formats that look alike, such as `.csv` and `.md`. */
  ending: string;
}

/** Numbers start at 1. Lines are those of the chosen pages. */
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
  /** What the document consists of. Documents that don't store where pages end come in parts. */
  unit: "page" | "sheet" | "slide" | "part";
  /** How many of them the document has. */
  count: number;
  firstPage: number;
  /** Earlier than requested if the text became too long. */
  lastPage: number;
  /** The names of all sheets, up to a limit; empty for other units. */
  names: string[];
  firstLine: number;
  lastLine: number;
  /** Lines of the chosen pages together. */
  totalLines: number;
  text: string;
}
