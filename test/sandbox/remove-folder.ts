/** Removes folders of tests without a child process, unless one of them denies access. */
import { rmSync } from "node:fs";
import { removeTree } from "../../src/sandbox/effects/remove-tree.ts";

export async function removeFolder(path: string): Promise<void> {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    await removeTree(path);
  }
}
