/** Removes trees that may be large, deep or unreadable, in a child process. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { opendirSync, rmdirSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "../../lib/errors.ts";

const run = promisify(execFile);
const discardedMark = ".discarded-";

/** Renames the tree first so that the path is free immediately. After a crash, `sweepDiscarded` removes the rest. */
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

/** Must be called at startup. Removes trees whose removal a crash interrupted. */
export async function sweepDiscarded(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.includes(discardedMark)) await removeTree(join(folder, name));
  }
}

/** Must not follow links or leave the file system. */
export async function removeTree(path: string): Promise<void> {
  if (removeIfEmpty(path)) return;
  // Only root can empty a folder that denies access.
  if (process.geteuid?.() !== 0) await run("chmod", ["-R", "u+rwx", "--", path]).catch(() => undefined);
  await run("rm", ["-rf", "--one-file-system", "--", path]);
}

/** A view without any writes leaves only a few empty folders. */
const maxEmptyDepth = 2;
const maxEmptyFolders = 8;

/** Avoids a child process for a few empty folders. Must not remove files. */
function removeIfEmpty(path: string, depth = maxEmptyDepth): boolean {
  try {
    if (removeFolder(path)) return true;
    if (depth === 0) return false;
    const names = fewNames(path);
    return (
      names.length <= maxEmptyFolders &&
      names.every((name) => removeIfEmpty(join(path, name), depth - 1)) &&
      removeFolder(path)
    );
  } catch {
    return false;
  }
}

function removeFolder(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return true;
    if (codeOf(thrown) === "ENOTEMPTY") return false;
    throw thrown;
  }
}

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
