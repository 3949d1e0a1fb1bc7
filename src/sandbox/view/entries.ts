/** Yields a folder's entries one by one, to save memory. Names need not be valid UTF-8. */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

export async function* entriesOf(folder: Buffer): AsyncGenerator<Dirent<Buffer>> {
  // Node accepts and returns buffers here, but its types say so only for `readdir`.
  const directory = await opendir(folder as unknown as string, { encoding: "buffer" as BufferEncoding });
  for await (const entry of directory) yield entry as unknown as Dirent<Buffer>;
}

export function pathWithin(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}
