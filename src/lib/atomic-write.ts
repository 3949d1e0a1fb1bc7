/**
 * Writing text files so that a reader, also one after a crash, sees the old text or the new one and nothing between:
 * a temporary file beside it is written and flushed, then renamed over it. Missing folders are made.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import writeFile from "write-file-atomic";
import { codeOf } from "./errors.ts";

/** Another process that starts may take the temporary file for one that a crash left, and remove it. */
const mostTries = 3;

/** Rejects with Node's own error, and nothing changed, when the disk is full or the folder can't be written. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeFile(path, text, { encoding: "utf8" });
      return;
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT" || tries === mostTries) throw thrown;
    }
  }
}

/** Writes of one path happen one after the other, in the order they were asked for; other paths are not held up. */
export interface FileWriter {
  write(path: string, text: string): Promise<void>;
  /** Reads, changes and writes as one step; `current` is undefined when there is no file. Returning undefined writes nothing. */
  update(path: string, change: (current: string | undefined) => string | undefined): Promise<void>;
}

/** Runs `work` after all earlier work of the same path has ended, well or badly; other paths are not held up. */
export type PathOrder = <T>(path: string, work: () => Promise<T>) => Promise<T>;

/** `alone` keeps other processes out as well, where there are any; it is given the path as it was asked for. */
export function createPathOrder(withLock: PathOrder = (_path, work) => work()): PathOrder {
  const lastByPath = new Map<string, Promise<unknown>>();
  return (path, work) => {
    const key = resolve(path);
    const previous = lastByPath.get(key) ?? Promise.resolve();
    // One failed write must not fail those behind it: its own caller has heard of it.
    const begin = () => withLock(path, work);
    const mine = previous.then(begin, begin);
    lastByPath.set(key, mine);
    const forget = () => {
      if (lastByPath.get(key) === mine) lastByPath.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  };
}

/** Orders the writes that go through this writer; one writer for everything in one process. */
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
