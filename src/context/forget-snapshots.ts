/** Removes the snapshots of turns that people want forgotten. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { listSnapshots } from "./explain.ts";

/** Returns how many snapshots it removed. Flush pending snapshots first. */
export async function forgetSnapshots(
  workspace: string,
  isWanted: (turnId: string) => Promise<boolean>,
): Promise<number> {
  let removed = 0;
  for (const { turnId, path } of await listSnapshots(workspace)) {
    if (!(await isWanted(turnId))) continue;
    await rm(join(workspace, path), { force: true });
    removed += 1;
  }
  return removed;
}
