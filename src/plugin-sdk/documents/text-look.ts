/** Summarises a text file: its lines, the columns of a table, or the shape of JSON, and its beginning. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import type { TextEncodingName } from "./content-type.ts";
import type { DocumentFile } from "./documents.ts";
import { jsonKind } from "./json-look.ts";
import { maxExcerptCharacters, maxWholeTextBytes } from "./limits.ts";
import { tableLook } from "./table-look.ts";
import { decodedText, settledEncoding } from "./text-file.ts";

/** Parsing JSON takes up to ten times its size in memory. */
const maxParsedJsonBytes = 24 * 1024 * 1024;

const mimeTypes = new Map([
  [".md", "text/markdown"],
  [".html", "text/html"],
  [".htm", "text/html"],
  [".svg", "image/svg+xml"],
  [".xml", "application/xml"],
]);

export async function inspectText(file: DocumentFile, detected: TextEncodingName): Promise<FileLook> {
  const encoding = settledEncoding(file, detected);
  const { head, lines, whole } = textOf(file, encoding);
  const table = await tableLook(file, encoding, head);
  const json = table === undefined ? jsonLook(file, encoding, head) : undefined;
  const kind = table ?? json ?? { mimeType: mimeTypes.get(file.ending) ?? "text/plain", summary: "text" };
  const count = `${formatNumber(lines)} ${lines === 1 ? "line" : "lines"}`;
  const notes = [
    kind.summary,
    count,
    formatBytes(file.size),
    ...(encoding === "utf-8" ? [] : [encoding.toUpperCase()]),
  ];
  const first = table?.rows === undefined ? shorten(head, maxExcerptCharacters) : table.rows;
  const { mimeType } = kind;
  if (whole !== undefined) return { mimeType, summary: notes.join(", "), text: whole };
  return { mimeType, summary: `${notes.join(", ")}. It begins:\n${first}` };
}

interface TextStart {
  head: string;
  lines: number;
  whole: string | undefined;
}

function textOf(file: DocumentFile, encoding: TextEncodingName): TextStart {
  const isShort = file.size <= maxWholeTextBytes;
  let text = "";
  let breaks = 0;
  let isLineOpen = false;
  for (const part of decodedText(file, encoding)) {
    if (isShort || text.length < maxExcerptCharacters) text += part;
    for (let at = part.indexOf("\n"); at !== -1; at = part.indexOf("\n", at + 1)) breaks += 1;
    if (part !== "") isLineOpen = !part.endsWith("\n");
  }
  return { head: text, lines: breaks + (isLineOpen ? 1 : 0), whole: isShort ? text : undefined };
}

function jsonLook(file: DocumentFile, encoding: TextEncodingName, head: string) {
  if (!/^\s*[[{]/.test(head) || file.size > maxParsedJsonBytes) return undefined;
  const summary = jsonKind([...decodedText(file, encoding)].join(""));
  return summary === undefined ? undefined : { mimeType: "application/json", summary };
}
