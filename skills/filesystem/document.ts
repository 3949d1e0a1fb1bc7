/** Documents for `read_file`: returns the text of the requested pages of a PDF, Word, Excel or PowerPoint file. */
import type { FileHandle } from "node:fs/promises";
import type { DocumentPages } from "../../src/plugin-sdk/documents/documents.ts";
import { readPages } from "../../src/plugin-sdk/documents/read-document.ts";
import type { LineRange } from "../../src/plugin-sdk/documents/text-lines.ts";
import { fileProblem } from "../../src/plugin-sdk/working-folder.ts";

const usualPages = 20;

interface DocumentRequest extends LineRange {
  pages: unknown;
  shown: string;
}

export async function documentText(
  handle: FileHandle,
  { pages, shown, ...lines }: DocumentRequest,
  signal: AbortSignal,
): Promise<string> {
  const { firstPage, lastPage } = pagesIn(pages);
  const file = { descriptor: handle.fd, name: shown };
  const read = await readPages(file, { firstPage, lastPage, ...lines }, signal);
  if (read.type === "problem") throw fileProblem(shown, read.message);
  return `(${shown}, ${whatIsShown(read)}${howToContinue(read)})\n${sheetNames(read)}${read.text}`;
}

/** Parses `3` or `3-7`. Defaults to the first pages. */
function pagesIn(pages: unknown): { firstPage: number; lastPage: number } {
  if (pages === undefined) return { firstPage: 1, lastPage: usualPages };
  const [, first, last] = /^\s*(\d{1,7})\s*(?:[-–]\s*(\d{1,7})\s*)?$/.exec(String(pages)) ?? [];
  const firstPage = Number(first);
  const lastPage = Number(last ?? first);
  if (first === undefined || firstPage < 1 || lastPage < firstPage) {
    throw fileProblem("pages", `${JSON.stringify(pages)} is not a page or a range: give "3" or "3-7"`);
  }
  return { firstPage, lastPage };
}

function whatIsShown({ unit, count, firstPage, lastPage, firstLine, lastLine, totalLines }: DocumentPages): string {
  const pages = firstPage === lastPage ? `${unit} ${firstPage}` : `${unit}s ${firstPage} to ${lastPage}`;
  const isAll = firstLine === 1 && lastLine === totalLines;
  return `${pages} of ${count}${isAll ? "" : `, lines ${firstLine} to ${lastLine} of ${totalLines}`}`;
}

function howToContinue({ count, firstPage, lastPage, lastLine, totalLines }: DocumentPages): string {
  if (lastLine < totalLines) return `; continue with pages "${range(firstPage, lastPage)}", offset ${lastLine + 1}`;
  if (lastPage >= count) return "";
  const next = Math.min(count, 2 * lastPage - firstPage + 1);
  return `; continue with pages "${range(lastPage + 1, next)}"`;
}

function range(first: number, last: number): string {
  return first === last ? String(first) : `${first}-${last}`;
}

function sheetNames({ names, lastPage, count }: DocumentPages): string {
  return names.length === 0 || lastPage >= count ? "" : `(sheets: ${names.join(", ")})\n`;
}
