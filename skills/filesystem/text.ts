/** Files as text: what is too large or no text is refused with what to do instead. */
import type { FileHandle } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import { fileProblem } from "../../src/plugin-sdk/working-folder.ts";

const mostReadBytes = 16 * 1024 * 1024;
/** Of the beginning of a file, to see whether it is text. */
const lookedAtBytes = 8 * 1024;

/** The whole file. A byte order mark is kept out of the text. */
export async function readText(handle: FileHandle, shown: string): Promise<string> {
  const { size } = await handle.stat();
  if (size > mostReadBytes) {
    throw fileProblem(
      shown,
      `has ${formatBytes(size)} and can't be read whole: use shell_exec with head, tail, sed -n or grep`,
    );
  }
  const bytes = await handle.readFile();
  if (isBinary(bytes)) throw fileProblem(shown, `is no text file (${formatBytes(bytes.length)} of binary data)`);
  return new TextDecoder().decode(bytes);
}

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, lookedAtBytes).includes(0);
}

export function textIn(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw fileProblem(name, "is missing: give it as text");
}
