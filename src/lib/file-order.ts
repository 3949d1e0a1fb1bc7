/**
 * Changes files of a folder that several processes, perhaps on several machines, write. Each change is read, edit and
 * write under a lock. A lock can expire while its holder stalls, so a stalled write must not replace a newer one:
 *
 *   1. take the lock
 *   2. create a file, which makes an NFS client forget what it has cached about the folder
 *   3. remove the temporary files and folders of earlier holders, so that their renames fail
 *   4. read and edit, and write to a temporary file. To delete a file, make a temporary folder
 *   5. if the lock is still held, rename the temporary file, or move the file into the temporary folder; if it is not, or
 *      the temporary file or folder is gone, start again at 1
 *
 * A holder that stalls after its check in 5 had its file or folder before anybody else could take the lock, so the next
 * holder has removed it.
 */
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { WithLock } from "../ports/cluster.ts";
import { isTemporaryName, replaceFile, temporaryName, withoutTemporary, writeFileAtomic } from "./atomic-write.ts";
import { codeOf, ifMissing, messageOf } from "./errors.ts";
import { createKeyedMutex } from "./keyed-mutex.ts";
import { lockLost, whileLocked } from "./with-lock.ts";

export interface OrderedFiles {
  write(path: string, text: string): Promise<void>;
  /** Does nothing if the file does not exist. */
  remove(path: string): Promise<void>;
}

/**
 * Runs `work` after all earlier work on the same path, even if the earlier work failed. If another process took the lock
 * over, `work` runs again, so it must read what it edits, and must not catch `isLockLost`.
 */
export type FileOrder = <T>(path: string, work: (files: OrderedFiles) => Promise<T>) => Promise<T>;

/** Retries, because a stalled holder may move its file into the folder at this moment. */
const removal = { recursive: true, force: true, maxRetries: 3 };

/**
 * Without `withLock`, only this process writes. The lock's name uses a path relative to `folder`, because other machines may
 * have the folder elsewhere.
 */
export function createFileOrder(folder: string, withLock?: WithLock): FileOrder {
  const inOrder = createKeyedMutex();
  if (withLock === undefined) return (path, work) => inOrder(resolve(path), () => work(unlocked));

  async function locked<T>(path: string, work: (files: OrderedFiles) => Promise<T>): Promise<T> {
    const name = `file:${relative(folder, path)}`;
    return await whileLocked(withLock as WithLock, name, async (check) => {
      await fence(path, check);
      return await work(filesUnder(name, check));
    });
  }

  return (path, work) => inOrder(resolve(path), () => locked(path, work));
}

const unlocked: OrderedFiles = { write: writeFileAtomic, remove: (path) => rm(path, { force: true }) };

function filesUnder(name: string, check: () => void): OrderedFiles {
  return {
    async write(path, text) {
      try {
        await mkdir(dirname(path), { recursive: true });
        await replaceFile(path, text, { check });
      } catch (thrown) {
        throw codeOf(thrown) === "ENOENT" ? lockLost(name, thrown) : thrown;
      }
    },
    async remove(path) {
      const aside = temporaryName(path);
      try {
        await mkdir(aside);
        check();
        // Not with its name, because the folder stays if the process is killed now.
        await rename(path, join(aside, "removed"));
      } catch (thrown) {
        if (codeOf(thrown) !== "ENOENT") throw thrown;
        // Either the file or the temporary folder is gone.
        if ((await isThere(dirname(path))) && !(await isThere(aside))) throw lockLost(name, thrown);
      } finally {
        await rm(aside, removal);
      }
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/**
 * Removes the temporary files that a kill during a write or a deletion left, at any depth, because they hold text. Does not
 * follow links. Rejects at the end if a folder can't be read or a file can't be removed.
 */
export async function removeLeftovers(folders: readonly string[], inOrder: FileOrder): Promise<void> {
  const failures: unknown[] = [];
  const waiting = [...folders];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    try {
      const paths = new Set<string>();
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(ifMissing([]))) {
        const path = join(folder, entry.name);
        if (isTemporaryName(path) && !entry.isSymbolicLink()) paths.add(withoutTemporary(path));
        else if (entry.isDirectory()) waiting.push(path);
      }
      for (const path of paths) await inOrder(path, () => removeTemporary(path));
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join("; "));
}

async function fence(path: string, check: () => void): Promise<void> {
  // On a full disk, old files can still be removed.
  await writeFile(temporaryName(path), "", { flag: "wx" }).catch(() => {});
  await removeTemporary(path, check);
}

/** Removes the temporary files of `path`. If it is a day, those of all its parts. */
async function removeTemporary(path: string, check = () => {}): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  check();
  const left = names.filter((name) => name.startsWith(`${basename(path)}.`) && isTemporaryName(name));
  for (const name of left) await rm(join(folder, name), removal);
}
