import { chmod, rm } from "node:fs/promises";
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
