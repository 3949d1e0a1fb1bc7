/** Reads all pages of a document for memory, in batches, each in its own isolated process. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import type { PagesRead } from "../memory/documents.ts";

const pagesAtOnce = 50;
/** Each batch opens the whole document again, so a longer document would keep a CPU busy for minutes. */
const maxPages = 2_000;
const maxLines = 1_000_000;

export async function readDocumentPages(path: string, signal: AbortSignal): Promise<PagesRead> {
  const { readPages } = await import("../plugin-sdk/documents/read-document.ts");
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const file = { descriptor: handle.fd, name: basename(path) };
  const pages: string[] = [];
  for (let count = 1; pages.length < Math.min(count, maxPages); ) {
    const firstPage = pages.length + 1;
    const lastPage = Math.min(firstPage + pagesAtOnce - 1, maxPages);
    const read = await readPages(file, { firstPage, lastPage, firstLine: 1, lines: maxLines }, signal);
    if (read.type === "problem") return { pages, problem: read.message };
    count = read.count;
    // If the text reached its size limit, the last page is incomplete, so read it again in the next batch.
    const isCut = read.lastLine < read.totalLines && read.lastPage > firstPage;
    pages.push(...splitPages(read.text, firstPage, isCut ? read.lastPage - 1 : read.lastPage, count));
    if (count > maxPages && pages.length === maxPages)
      return { pages, problem: `it has ${count} pages; only the first ${maxPages} can be searched` };
  }
  if (pages.every((page) => page.trim() === ""))
    return { pages: [], problem: "it has no text; it is probably scanned" };
  return { pages };
}

/** Splits the text at lines such as `[page 3]`, which begin each page unless the document has only one. */
function splitPages(text: string, firstPage: number, lastPage: number, count: number): string[] {
  if (count === 1) return [text];
  const pages = Array.from({ length: lastPage - firstPage + 1 }, (): string[] => []);
  let next = firstPage;
  for (const line of text.split("\n")) {
    if (line === `[page ${next}]`) next += 1;
    else pages[next - 1 - firstPage]?.push(line);
  }
  return pages.map((lines) => lines.join("\n"));
}
