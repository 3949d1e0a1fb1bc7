/** Removes old files of a folder that only grows, and the folders that are empty then. */
import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../lib/errors.ts";

/**
 * Files last written before `before`, in milliseconds since the epoch, at any depth. Links are removed, not followed. A
 * folder goes only when it is as old, so that one that was made just now can still be filled. A missing folder is empty.
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

/** Another process may prune the same folder, or fill it. */
function ignoreGone<T>(otherwise: () => T): (thrown: unknown) => T {
  return (thrown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(codeOf(thrown) ?? "")) throw thrown;
    return otherwise();
  };
}
