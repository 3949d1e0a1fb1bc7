/** Reads files as text. For other files, the error message says what to do instead. */
import type { FileHandle } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import { fileProblem } from "../../src/plugin-sdk/working-folder.ts";

const maxReadBytes = 16 * 1024 * 1024;
const lookedAtBytes = 8 * 1024;

export async function readText(handle: FileHandle, shown: string): Promise<string> {
  const { size } = await handle.stat();
  if (size > maxReadBytes) {
    throw fileProblem(
      shown,
      `is ${formatBytes(size)}, too large to read whole: use shell_exec with head, tail, sed -n or grep`,
    );
  }
  const bytes = await handle.readFile();
  if (isBinary(bytes)) throw fileProblem(shown, `is not a text file (${formatBytes(bytes.length)} of binary data)`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw fileProblem(
      shown,
      "is not in UTF-8, so an edit would damage it: convert it first, or write it anew with write_file",
    );
  }
}

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, lookedAtBytes).includes(0);
}

export function textIn(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw fileProblem(name, "is missing: give it as text");
}
