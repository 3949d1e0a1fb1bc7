/** Reads text files in UTF-8, UTF-16 or Windows-1252. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { FileLook } from "../../ports/file-inspector.ts";
import type { TextEncodingName } from "./content-type.ts";
import type { DocumentFile } from "./documents.ts";
import { maxExcerptCharacters, maxWholeTextBytes } from "./limits.ts";
import { bytesAt } from "./open-file.ts";

const chunkBytes = 256 * 1024;

export async function inspectText(file: DocumentFile, detected: TextEncodingName): Promise<FileLook> {
  const encoding = settledEncoding(file, detected);
  let text = "";
  let lines = 0;
  let isLineOpen = false;
  const isWhole = file.size <= maxWholeTextBytes;
  for (const part of decoded(file, encoding)) {
    if (isWhole || text.length < maxExcerptCharacters) text += part;
    for (let at = part.indexOf("\n"); at !== -1; at = part.indexOf("\n", at + 1)) lines += 1;
    if (part !== "") isLineOpen = !part.endsWith("\n");
  }
  const count = lines + (isLineOpen ? 1 : 0);
  const size = `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"}, ${formatBytes(file.size)}`;
  const head = `text, ${size}, ${encoding.toUpperCase()}`;
  if (isWhole) return { mimeType: "text/plain", summary: head, text };
  return { mimeType: "text/plain", summary: `${head}. It begins:\n${shorten(text, maxExcerptCharacters)}` };
}

/** Text that is UTF-8 at its beginning is Windows-1252 if it has other bytes later. */
export function settledEncoding(file: DocumentFile, detected: TextEncodingName): TextEncodingName {
  if (detected !== "utf-8") return detected;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for (const bytes of chunks(file)) decoder.decode(bytes, { stream: true });
    decoder.decode();
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

/** The byte order mark is left out. */
export function* decoded(file: DocumentFile, encoding: TextEncodingName): Generator<string> {
  const decoder = new TextDecoder(encoding);
  for (const bytes of chunks(file)) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

function* chunks({ descriptor, size }: DocumentFile): Generator<Uint8Array> {
  for (let at = 0; at < size; at += chunkBytes) {
    const bytes = bytesAt(descriptor, at, Math.min(chunkBytes, size - at));
    if (bytes.length === 0) return;
    yield bytes;
  }
}
