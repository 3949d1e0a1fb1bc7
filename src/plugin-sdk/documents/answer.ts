/** Answers one request about a document. Runs in an isolated process; see document-process.ts. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import { archiveLook } from "./archive.ts";
import type { DocumentAnswer, DocumentFile, DocumentRequest, DocumentText, PageRange } from "./documents.ts";
import { maxExcerptCharacters, maxInspectedPages, maxInspectionMs, maxTextCharacters } from "./limits.ts";
import { createLineWindow } from "./line-window.ts";
import { type OfficeFile, officeFileIn } from "./office.ts";
import { bytesAt } from "./open-file.ts";
import { otherLook } from "./other.ts";
import { DocumentProblem } from "./problem.ts";
import { type DocumentReader, moreText } from "./reader.ts";
import { inspectText } from "./text-look.ts";
import { openZip, type ZipArchive } from "./zip.ts";

const maxShownNames = 50;
const maxNameCharacters = 100;

export async function answerDocument(request: DocumentRequest): Promise<DocumentAnswer> {
  const { file } = request;
  try {
    switch (request.type) {
      case "inspect":
        return { type: "look", look: await inspect(file) };
      case "pages":
        return await pages(file, request.range);
      default:
        return request satisfies never;
    }
  } catch (thrown) {
    if (thrown instanceof DocumentProblem) return { type: "problem", message: thrown.sentence };
    throw thrown;
  }
}

async function inspect(file: DocumentFile): Promise<FileLook> {
  const { content } = file;
  switch (content.kind) {
    case "text":
      return await inspectText(file, content.encoding);
    case "pdf":
    case "zip": {
      const opened = await openDocument(file);
      return opened.type === "archive"
        ? archiveLook(opened.zip, file.size)
        : await documentLook(opened.reader, file.size);
    }
    default:
      return otherLook(file);
  }
}

async function pages(file: DocumentFile, range: PageRange): Promise<DocumentText> {
  const opened = await openDocument(file);
  if (opened.type === "archive") throw new DocumentProblem("It is an archive. Unpack it to read its files.");
  const { reader } = opened;
  const { unit, count, names } = reader;
  const { firstPage, firstLine } = range;
  if (firstPage > count) {
    throw new DocumentProblem(`There is no ${unit} ${firstPage}; the document has ${count}.`);
  }
  const window = createLineWindow(range);
  let lastPage = firstPage - 1;
  for (let page = firstPage; page <= Math.min(range.lastPage, count) && !window.isFull(); page += 1) {
    for (const heading of headingOf(reader, page)) window.add(heading);
    for await (const line of reader.lines(page)) window.add(line);
    lastPage = page;
  }
  if (window.last < firstLine && window.total > 0) {
    throw new DocumentProblem(`The chosen pages have ${window.total} lines, so line ${firstLine} does not exist.`);
  }
  const text = window.text();
  const { last: lastLine, total: totalLines } = window;
  const shownNames = names.slice(0, maxShownNames).map((name) => oneLine(name, maxNameCharacters));
  return { type: "pages", unit, count, names: shownNames, firstPage, lastPage, firstLine, lastLine, totalLines, text };
}

type Opened = { type: "document"; reader: DocumentReader } | { type: "archive"; zip: ZipArchive };

/** Loads a reader only when needed, because PDF.js alone takes longer to load than most files take to read. */
async function openDocument({ descriptor, size, content }: DocumentFile): Promise<Opened> {
  const { buffer, byteOffset, length } = bytesAt(descriptor, 0, size);
  const bytes = new Uint8Array(buffer, byteOffset, length);
  if (content.kind === "pdf") return { type: "document", reader: await (await import("./pdf.ts")).openPdf(bytes) };
  if (content.kind !== "zip") throw new DocumentProblem("This type of file has no text that can be read by pages.");
  const zip = openZip(bytes);
  const office = officeFileIn(zip);
  return office === undefined ? { type: "archive", zip } : { type: "document", reader: await openOffice(office) };
}

async function openOffice(office: OfficeFile): Promise<DocumentReader> {
  switch (office.kind) {
    case "docx":
      return (await import("./word.ts")).openWord(office);
    case "xlsx":
      return (await import("./sheets.ts")).openSheets(office);
    case "pptx":
      return (await import("./slides.ts")).openSlides(office);
    default:
      return office.kind satisfies never;
  }
}

async function documentLook(reader: DocumentReader, size: number): Promise<FileLook> {
  const { mimeType, name, unit, count, names } = reader;
  const { text, isWhole } = await beginning(reader);
  const title = oneLine(reader.title, 200).replace(/^untitled$/i, "");
  const parts = [
    title === "" ? name : `${name} “${title}”`,
    `${formatNumber(count)} ${unit}${count === 1 ? "" : "s"}`,
    formatBytes(size),
  ];
  const sheets = names.length === 0 ? "" : `\nSheets: ${oneLine(names.join(", "), 500)}`;
  const head = `${parts.join(", ")}${sheets}`;
  if (text.trim() === "") {
    return { mimeType, summary: head, problem: reader.emptyProblem ?? "The document has no text." };
  }
  if (isWhole) return { mimeType, summary: head, text };
  return { mimeType, summary: `${head}. It begins:\n${shorten(text, maxExcerptCharacters)}` };
}

/** Named pages always get a heading, others only if there are several. */
function headingOf({ unit, count, names }: DocumentReader, page: number): string[] {
  const name = names[page - 1];
  if (name !== undefined) return [`[${unit} ${page}: ${oneLine(name, maxNameCharacters)}]`];
  return count === 1 ? [] : [`[${unit} ${page}]`];
}

async function beginning(reader: DocumentReader): Promise<{ text: string; isWhole: boolean }> {
  const { count, lines } = reader;
  const end = performance.now() + maxInspectionMs;
  const parts: string[] = [];
  let length = 0;
  let hasText = false;
  for (let page = 1; page <= count; page += 1) {
    if (page > maxInspectedPages || performance.now() > end) return { text: textOf(parts, hasText), isWhole: false };
    parts.push(...headingOf(reader, page));
    for await (const line of lines(page)) {
      parts.push(line);
      length += line.length + 1;
      hasText ||= line.trim() !== "";
      if (line === moreText || length > maxTextCharacters) return { text: textOf(parts, hasText), isWhole: false };
    }
  }
  return { text: textOf(parts, hasText), isWhole: true };
}

function textOf(parts: readonly string[], hasText: boolean): string {
  return hasText ? parts.join("\n") : "";
}
