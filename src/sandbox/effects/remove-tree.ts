/** Removing trees that may be large, deep or unreadable: in a child process, after they were renamed aside. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { opendirSync, rmdirSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../../lib/errors.ts";

const run = promisify(execFile);
const discardedMark = ".discarded-";

/**
 * Removes a layer, a view's scratch folder or a snapshot. It is gone from its path at once, also when the process dies
 * here; `sweepDiscarded` removes the rest then. Resolves when there is nothing at `path`.
 */
export async function discardLayer(path: string): Promise<void> {
  const aside = join(dirname(path), `${basename(path)}${discardedMark}${randomBytes(6).toString("hex")}`);
  try {
    await rename(path, aside);
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return;
    throw thrown;
  }
  await removeTree(aside);
}

/** At start: removes what a `discardLayer` in this folder was cut off at. */
export async function sweepDiscarded(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.includes(discardedMark)) await removeTree(join(folder, name));
  }
}

/** Never follows links, never leaves the file system. Resolves when nothing is there. */
export async function removeTree(path: string): Promise<void> {
  if (isRemoved(path)) return;
  // An ordinary user can't empty a folder that denies it; root can.
  if (process.geteuid?.() !== 0) await run("chmod", ["-R", "u+rwx", "--", path]).catch(() => undefined);
  await run("rm", ["-rf", "--one-file-system", "--", path]);
}

/** What a view leaves that wrote nothing: a folder of empty folders. */
const maxEmptyDepth = 2;
const maxEmptyFolders = 8;

/** Without a child process where there is nothing, or nothing but a few empty folders. Removes no file. */
function isRemoved(path: string, depth = maxEmptyDepth): boolean {
  try {
    if (isFolderGone(path)) return true;
    if (depth === 0) return false;
    const names = fewNames(path);
    return (
      names.length <= maxEmptyFolders &&
      names.every((name) => isRemoved(join(path, name), depth - 1)) &&
      isFolderGone(path)
    );
  } catch {
    // A file, or a folder that denies it.
    return false;
  }
}

function isFolderGone(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return true;
    if (codeOf(thrown) === "ENOTEMPTY") return false;
    throw thrown;
  }
}

/** No more than one above the limit, however many there are. */
function fewNames(path: string): string[] {
  const folder = opendirSync(path);
  try {
    const names: string[] = [];
    for (let entry = folder.readSync(); entry !== null && names.length <= maxEmptyFolders; entry = folder.readSync())
      names.push(entry.name);
    return names;
  } finally {
    folder.closeSync();
  }
}
