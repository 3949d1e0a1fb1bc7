/** Entries of a folder whose names may be any bytes. */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";

/** One after the other, however many there are. */
export async function* entriesOf(folder: Buffer): AsyncGenerator<Dirent<Buffer>> {
  // Node takes and gives buffers here; its types know that of `readdir` only.
  const directory = await opendir(folder as unknown as string, { encoding: "buffer" as BufferEncoding });
  for await (const entry of directory) yield entry as unknown as Dirent<Buffer>;
}

export function pathWithin(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}
