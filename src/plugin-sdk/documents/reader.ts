/** An open document: its number of pages, sheets or slides, and the lines of each. */
import type { DocumentPages } from "./documents.ts";

/** Added as the last line of a page that was cut at the size or time limit. */
export const moreText = "(this page has more text)";

export interface DocumentReader {
  mimeType: string;
  /** The type's name for people. */
  name: string;
  unit: DocumentPages["unit"];
  count: number;
  /** Empty if the document has none. */
  title: string;
  /** The names of all sheets; empty for other units. */
  names: readonly string[];
  /** The lines of a page; pages are numbered from 1. */
  lines(page: number): Iterable<string> | AsyncIterable<string>;
  /** Why there is no text although the document is intact. */
  emptyProblem?: string;
}
