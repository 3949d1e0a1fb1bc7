/** Removes old files from a folder that keeps growing, and then its empty subfolders. */
import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../lib/errors.ts";

/**
 * Removes files and links (without following them), at any depth, that were last written before `before` (milliseconds
 * since 1970). Keeps a newer empty folder, because it may be about to receive files. Does nothing if `folder` is
 * missing.
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

/** Ignores missing files and folders that are not empty, because other processes may prune or fill the folder. */
function ignoreGone<T>(otherwise: () => T): (thrown: unknown) => T {
  return (thrown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(codeOf(thrown) ?? "")) throw thrown;
    return otherwise();
  };
}
