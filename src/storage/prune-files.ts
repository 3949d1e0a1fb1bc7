/** Removes old files from a folder that keeps growing, and then its empty subfolders. */
import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../lib/errors.ts";

/**
 * Removes files last written before `before` (milliseconds since 1970) at any depth. Removes links without following
 * them. Removes an empty folder only if it is equally old, because a new folder may be about to receive files. If
 * `folder` is missing, does nothing.
 */
export async function pruneFiles(folder: string, before: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(ignoreGone(() => []))) {
    const path = join(folder, entry.name);
    const isOld = await lstat(path).then(
      ({ mtimeMs }) => mtimeMs < before,
      ignoreGone(() => false),
    );
    if (entry.isDirectory()) await pruneFiles(path, before);
    if (isOld) await (entry.isDirectory() ? rmdir(path) : unlink(path)).catch(ignoreGone(() => {}));
  }
}

/**
 * Ignores errors about files that are already gone and folders that are not empty, because another process may prune or
 * fill the same folder.
 */
function ignoreGone<T>(otherwise: () => T): (thrown: unknown) => T {
  return (thrown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(codeOf(thrown) ?? "")) throw thrown;
    return otherwise();
  };
}
