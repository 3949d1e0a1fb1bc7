/** Appends lines to one file that only its owner may read. Each write is all or nothing. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder } from "./sync-folder.ts";

export interface LineFile {
  name: string;
  /**
   * Resolves to the place where the text begins; if `isLasting`, once the bytes are on disk. A rejected write adds nothing
   * to the file.
   */
  append(text: string, isLasting: boolean): Promise<number>;
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

/** Creates file and folder if needed. Only one process may use the file. With `isNew`, rejects if the file exists. */
export async function openLineFile(folder: string, name: string, { isNew = false } = {}): Promise<LineFile> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
  const handle = await open(path, O_CREAT | O_RDWR | O_NOFOLLOW | (isNew ? O_EXCL : 0), 0o600);
  const made = await handle.stat();
  await syncFolder(folder);
  let end = made.size;
  /** True if a failed write may have left bytes after `end`. */
  let hasRest = false;

  return {
    name,
    async append(text, isLasting) {
      if (hasRest) await handle.truncate(end);
      hasRest = true;
      const bytes = Buffer.from(text);
      try {
        await writeAll(handle, bytes, end);
        if (isLasting) await handle.datasync();
      } catch (thrown) {
        await handle.truncate(end).then(
          () => {
            hasRest = false;
          },
          () => {},
        );
        throw thrown;
      }
      hasRest = false;
      end += bytes.length;
      return end - bytes.length;
    },
    async isThere() {
      const found = await stat(path).catch(() => undefined);
      return found?.ino === made.ino && found.dev === made.dev;
    },
    async close() {
      await handle.datasync().catch(() => {});
      await handle.close();
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}
