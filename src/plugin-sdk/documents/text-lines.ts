/** Reads the requested lines of a text file of any size. Keeps only these in memory but counts all lines. */
import type { FileHandle } from "node:fs/promises";
import type { TextEncodingName } from "./content-type.ts";
import { maxTextCharacters } from "./limits.ts";
import { createLineWindow, type LineWindow } from "./line-window.ts";

const chunkBytes = 256 * 1024;

export interface LineRange {
  /** From 1. */
  firstLine: number;
  lines: number;
}

/** Omits the byte order mark. Rejects if the signal aborts or reading fails. */
export async function readLines(
  handle: FileHandle,
  range: LineRange & { encoding: TextEncodingName },
  signal: AbortSignal,
): Promise<LineWindow> {
  const decoder = new TextDecoder(range.encoding);
  const window = createLineWindow(range);
  const lines = createLineSplitter(window);
  const buffer = Buffer.alloc(chunkBytes);
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    lines.add(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }));
  }
  lines.add(decoder.decode());
  lines.end();
  return window;
}

/** Splits text into lines. Keeps only the beginning of a very long line, to limit memory. */
function createLineSplitter(window: LineWindow): { add(text: string): void; end(): void } {
  let open = "";
  let length = 0;
  const extend = (text: string) => {
    length += text.length;
    if (open.length <= maxTextCharacters) open += text;
  };
  const finish = () => {
    window.add(open, length);
    open = "";
    length = 0;
  };
  return {
    add(text) {
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        extend(text.slice(start, end));
        finish();
        start = end + 1;
      }
      extend(text.slice(start));
    },
    end() {
      if (length > 0) finish();
    },
  };
}
