/** The folders that must be there and be ours to write before anything else is opened. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../lib/errors.ts";

/** The data folder holds private things, so others may not look into it. */
export async function makeFolders(workspace: string, data: string): Promise<void> {
  for (const folder of [workspace, data, join(workspace, "files"), join(workspace, "skills")]) {
    try {
      await mkdir(folder, { recursive: true, mode: folder === data ? 0o700 : 0o755 });
    } catch (thrown) {
      throw new RemoraError({
        code: "start.folder",
        place: folder,
        message: `can't be made or used: ${messageOf(thrown)}. Make it writable, or set REMORA_WORKSPACE and REMORA_DATA`,
        cause: thrown,
      });
    }
  }
}
