/** Decodes a text file piece by piece. */
import type { TextEncodingName } from "./content-type.ts";
import { bytesAt } from "./open-file.ts";

interface OpenedText {
  descriptor: number;
  size: number;
}

const chunkBytes = 256 * 1024;

/** Text detected as UTF-8 by its beginning is Windows-1252 if later bytes are not valid UTF-8. */
export function settledEncoding(file: OpenedText, detected: TextEncodingName): TextEncodingName {
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

/** Omits the byte order mark. */
export function* decodedText(file: OpenedText, encoding: TextEncodingName): Generator<string> {
  const decoder = new TextDecoder(encoding);
  for (const bytes of chunks(file)) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

function* chunks({ descriptor, size }: OpenedText): Generator<Uint8Array> {
  for (let at = 0; at < size; at += chunkBytes) {
    const bytes = bytesAt(descriptor, at, Math.min(chunkBytes, size - at));
    if (bytes.length === 0) return;
    yield bytes;
  }
}
