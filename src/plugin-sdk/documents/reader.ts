/** A document that was opened: how many pages, sheets or slides it has, and the lines of each. */
import type { DocumentPages } from "./documents.ts";

/** The last line of a page whose text was too long, or took too long. */
export const moreText = "(this page has more text)";

export interface DocumentReader {
  mimeType: string;
  /** What people call this type. */
  name: string;
  unit: DocumentPages["unit"];
  count: number;
  /** Empty if the document says none. */
  title: string;
  /** The names of all sheets; empty for other units. */
  names: readonly string[];
  /** The lines of a page, from 1. */
  lines(page: number): Iterable<string> | AsyncIterable<string>;
  /** Why there is no text although the document is intact. */
  emptyProblem?: string;
}
