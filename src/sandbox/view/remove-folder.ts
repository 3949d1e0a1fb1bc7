/** Removes folders, even with subfolders that deny access, which commands and overlayfs create. */
import { chmodSync, rmdirSync } from "node:fs";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { entriesOf, pathWithin } from "./entries.ts";

/** Must not reject. Leaves what it can't remove. */
export async function removeFolder(folder: string): Promise<void> {
  const remove = () => rm(folder, { recursive: true, force: true });
  await remove()
    .catch(async () => {
      await unlock(Buffer.from(folder));
      await remove();
    })
    .catch(() => undefined);
}

async function unlock(folder: Buffer): Promise<void> {
  await chmod(folder, 0o700);
  for await (const entry of entriesOf(folder)) if (entry.isDirectory()) await unlock(pathWithin(folder, entry.name));
}

/** The folders that overlayfs leaves in its work folder, inner folders last. */
const overlayFolders = ["", "work", "work/incompat", "work/incompat/volatile"];

export async function removeWorkFolder(folder: string): Promise<void> {
  try {
    for (const inner of overlayFolders) chmodSync(join(folder, inner), 0o700);
    for (const inner of overlayFolders.toReversed()) rmdirSync(join(folder, inner));
  } catch {
    await removeFolder(folder);
  }
}
