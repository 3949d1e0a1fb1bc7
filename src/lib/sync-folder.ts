import { open } from "node:fs/promises";

/** Flushes the folder, so that the names of its new files survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
