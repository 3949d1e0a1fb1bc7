import { chmodSync, rmdirSync } from "node:fs";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { entriesOf, pathWithin } from "./entries.ts";

/**
 * Removes a folder with everything in it, also where folders in it may not be entered: a command can lock them, and
 * overlayfs does. Never rejects: what can't be removed stays.
 */
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

/** What overlayfs leaves in its working folder, inner ones last. */
const overlayFolders = ["", "work", "work/incompat", "work/incompat/volatile"];

/** Removes overlayfs' working folder in no time; any other folder as `removeFolder` does. */
export async function removeWorkFolder(folder: string): Promise<void> {
  try {
    for (const inner of overlayFolders) chmodSync(join(folder, inner), 0o700);
    for (const inner of overlayFolders.toReversed()) rmdirSync(join(folder, inner));
  } catch {
    await removeFolder(folder);
  }
}
