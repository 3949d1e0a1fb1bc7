/** Writes text files atomically: readers see the old text or the new one, even after a crash. Creates folders. */
import { randomInt } from "node:crypto";
import { chown, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf, ifMissing } from "./errors.ts";
import { createKeyedMutex } from "./keyed-mutex.ts";

/** Retry, because another process may mistake the temporary file for a crash's leftover and remove it. */
const maxTries = 3;

/**
 * If the disk is full or the folder is read-only, rejects with Node's own error and changes nothing. A new file gets
 * `mode`; without it, one that exists keeps its own.
 */
export async function writeFileAtomic(path: string, text: string, mode?: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    await mkdir(dirname(path), { recursive: true });
    try {
      await replaceFile(path, text, { mode });
      return;
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT" || tries === maxTries) throw thrown;
    }
  }
}

/** Random, because processes in containers often have the same id. */
export function temporaryName(path: string): string {
  return `${path}.${randomInt(10 ** 13, 10 ** 14)}.part`;
}

/** Exact, because people may keep copies such as `name.20261123` beside a file. */
const temporaryEnd = /\.\d{14}\.part$/;

export function isTemporaryName(name: string): boolean {
  return temporaryEnd.test(name);
}

/** The inverse of `temporaryName`. */
export function withoutTemporary(name: string): string {
  return name.replace(temporaryEnd, "");
}

/** Once. `check` runs right before the rename, and stops it by throwing. */
export async function replaceFile(
  path: string,
  text: string,
  { mode, check }: { mode?: number | undefined; check?: () => void },
): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const before = await stat(target).catch(() => undefined);
  // Root could replace `/dev/null`, which other programs need.
  if (before?.isFile() === false) throw new Error(`${target} is not a regular file`);
  const temporary = temporaryName(target);
  try {
    const handle = await open(temporary, "wx", mode ?? 0o666);
    try {
      if (before !== undefined || mode !== undefined) await handle.chmod(mode ?? (before?.mode ?? 0) & 0o7777);
      await handle.writeFile(text, "utf8");
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (before !== undefined && before.uid !== process.getuid?.())
      await chown(temporary, before.uid, before.gid).catch(() => {});
    check?.();
    await rename(temporary, target);
  } catch (thrown) {
    await rm(temporary, { force: true }).catch(() => {});
    throw thrown;
  }
}

/** Writes to one path happen in the order of the calls. */
export interface FileWriter {
  write(path: string, text: string): Promise<void>;
  /** Reads, changes and writes in one step. If `change` returns undefined, nothing is written. */
  update(path: string, change: (current: string | undefined) => string | undefined): Promise<void>;
}

export function createFileWriter(): FileWriter {
  const inOrder = createKeyedMutex();

  return {
    write: (path, text) => inOrder(resolve(path), () => writeFileAtomic(path, text)),
    update: (path, change) =>
      inOrder(resolve(path), async () => {
        const changed = change(await readFile(path, "utf8").catch(ifMissing(undefined)));
        if (changed !== undefined) await writeFileAtomic(path, changed);
      }),
  };
}
