/** Locates and creates the folders for open drafts, the undo journal, background jobs and the files of approvals. */
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";

export function draftsFolderOf(workspace: string): string {
  return join(workspace, "drafts");
}

export function openDraftsFolder(draftsFolder: string): string {
  return join(draftsFolder, "open");
}

/** Denies other users access, because a command may have written setuid files owned by Remora's user. */
export async function makeDraftFolders(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  for (const name of ["open", "undo", "jobs", "bound"]) await mkdir(join(folder, name), { recursive: true });
}
