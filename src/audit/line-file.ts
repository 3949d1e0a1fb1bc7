/** Appends lines to one audit file. Each write is all or nothing. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { join } from "node:path";

export interface LineFile {
  name: string;
  /** If `isLasting`, resolves once the bytes are on disk. A rejected write adds nothing to the file. */
  append(text: string, isLasting: boolean): Promise<void>;
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

/** Creates file and folder if needed. Only one process may use the file. */
export async function openLineFile(folder: string, name: string): Promise<LineFile> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  const handle = await open(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600);
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

/** Flushes the folder so that a new file's name survives a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
