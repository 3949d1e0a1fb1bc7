/**
 * Saves a stream in the working folder:
 *
 *   1. open the message's folder; if `inbox` or the folder is a link, refuse
 *   2. write a temporary file piece by piece, and stop at the limit
 *   3. flush the file, then rename it: readers find the complete file or none, even after a crash
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { atPlace } from "../lib/working-folder.ts";
import { checkFolder, type InboxFile, temporaryPrefix, type WrittenFile } from "./folder-inbox.ts";

export interface SavedStream {
  file: InboxFile;
  /** The attachment's index, which distinguishes the temporary files of one message. */
  index: number;
  stream: AsyncIterable<Uint8Array>;
  /** Called before the file gets its name. */
  onWritten(written: WrittenFile): Promise<void>;
  /** Throws if more bytes arrive than expected. */
  checkSize(bytesSoFar: number, isEnd: boolean): void;
}

const fileMode = 0o644;

/** Resolves to the file's size. Rejects with Node's own error if the file can't be written. */
export async function saveStream({ file, index, stream, onWritten, checkSize }: SavedStream): Promise<number> {
  const { root, folder, name } = file;
  const path = join(folder, name);
  return await atPlace({ workingFolder: root, path, makesFolders: true }, async (place) => {
    await checkFolder(place, join(root, folder));
    const prefix = `${temporaryPrefix}${index}-`;
    await removeLeftovers(dirname(place.path), prefix);
    const temporary = join(dirname(place.path), prefix + randomBytes(6).toString("hex"));
    try {
      const written = await writeStream(temporary, stream, checkSize);
      await onWritten(written);
      await rename(temporary, place.path);
      return written.bytes;
    } catch (thrown) {
      await rm(temporary, { force: true });
      throw thrown;
    }
  });
}

async function writeStream(
  path: string,
  stream: AsyncIterable<Uint8Array>,
  checkSize: SavedStream["checkSize"],
): Promise<WrittenFile> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  await using handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode);
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    checkSize(bytes, false);
    await handle.writeFile(chunk);
  }
  checkSize(bytes, true);
  await handle.sync();
  return { bytes, changedAtMs: (await handle.stat()).mtimeMs };
}

async function removeLeftovers(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.startsWith(prefix)) await rm(join(folder, name), { force: true });
}
