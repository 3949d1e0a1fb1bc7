/** Counts files up to a maximum so that a large folder does not take long. An unreadable folder counts as empty. */
import { opendir } from "node:fs/promises";

export async function countFiles(folder: string, max: number): Promise<number> {
  let count = 0;
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && count <= max; next = folders.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      if (entry.isDirectory()) folders.push(`${next}/${entry.name}`);
      else count += 1;
      if (count > max) break;
    }
  }
  return count;
}
