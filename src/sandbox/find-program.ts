/** Finds a program on the PATH of this process or in the system folders. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join, sep } from "node:path";

export const programFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

export async function findProgram(name: string): Promise<string | undefined> {
  const onPath = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith(sep));
  for (const folder of [...onPath, ...programFolders]) {
    const path = join(folder, name);
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
}
