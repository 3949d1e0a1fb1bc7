/** One file of the audit that lines are added to: all of a write or nothing of it. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { join } from "node:path";

export interface LineFile {
  name: string;
  /** `isLasting`: resolves when the bytes are on disk. After a rejection the file holds what it held before. */
  append(text: string, isLasting: boolean): Promise<void>;
  /** Whether it still stands where it was made. */
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

/** Must not be used by anybody else. Made with its folder when it is not there. */
export async function openLineFile(folder: string, name: string): Promise<LineFile> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  const handle = await open(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600);
  const made = await handle.stat();
  await syncFolder(folder);
  /** Up to here there are whole lines. */
  let end = made.size;
  /** Of a write that failed, something may stand behind the end. */
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

/** So that the file's name survives a power cut as well. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
