/** Creates the folders that must exist and be writable before anything else opens. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RemoraError } from "../lib/errors.ts";

/** The data folder is private, so other users get no access to it. */
export async function makeFolders(workspace: string, data: string): Promise<void> {
  for (const folder of [workspace, data, join(workspace, "files"), join(workspace, "skills")]) {
    try {
      await mkdir(folder, { recursive: true, mode: folder === data ? 0o700 : 0o755 });
    } catch (thrown) {
      throw new RemoraError({
        code: "start.folder",
        place: folder,
        message: `can't be created or used: ${messageOf(thrown)}. Make it writable, or set REMORA_WORKSPACE and REMORA_DATA`,
        cause: thrown,
      });
    }
  }
}

/** The log of every process that uses this data folder, a file per day. */
export function logsFolderOf(data: string): string {
  return join(data, "logs");
}
