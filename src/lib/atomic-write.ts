/** Writes text files atomically: readers see the old text or the new one, even after a crash. Creates folders. */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import writeFile from "write-file-atomic";
import { codeOf } from "./errors.ts";
import { createKeyedMutex } from "./keyed-mutex.ts";

/** Retry, because another process may mistake the temporary file for a crash's leftover and remove it. */
const maxTries = 3;

/** If the disk is full or the folder is read-only, rejects with Node's own error and changes nothing. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeFile(path, text, { encoding: "utf8" });
      return;
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT" || tries === maxTries) throw thrown;
    }
  }
}

/** Writes to one path happen in the order of the calls. */
export interface FileWriter {
  write(path: string, text: string): Promise<void>;
  /** Reads, changes and writes in one step. If `change` returns undefined, nothing is written. */
  update(path: string, change: (current: string | undefined) => string | undefined): Promise<void>;
}

/** Runs `work` after all earlier work on the same path, even if the earlier work failed. */
export type PathOrder = <T>(path: string, work: () => Promise<T>) => Promise<T>;

/** `withLock` can exclude other processes too. */
export function createPathOrder(withLock: PathOrder = (_path, work) => work()): PathOrder {
  const inOrder = createKeyedMutex();
  return (path, work) => inOrder(resolve(path), () => withLock(path, work));
}

export function createFileWriter(): FileWriter {
  const inOrder = createPathOrder();

  return {
    write: (path, text) => inOrder(path, () => writeFileAtomic(path, text)),
    update: (path, change) =>
      inOrder(path, async () => {
        const changed = change(await readIfThere(path));
        if (changed !== undefined) await writeFileAtomic(path, changed);
      }),
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
