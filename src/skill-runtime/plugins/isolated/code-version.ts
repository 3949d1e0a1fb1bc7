/** Hashes the code files of a skill. */
import { hash } from "node:crypto";
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

const maxCodeFiles = 2_000;
const codeEnding = /\.(?:[cm]?[jt]s|json|wasm|node)$/;

export async function codeVersion(path: string, folder: string): Promise<string> {
  await stat(path);
  return hash("sha256", (await codeStamps(folder)).join("\n")).slice(0, 16);
}

async function codeStamps(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry: Dirent) => entry.isFile() && codeEnding.test(entry.name)).slice(0, maxCodeFiles);
  return await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      const { mtimeMs, size } = await stat(path);
      return `${path} ${size} ${mtimeMs}`;
    }),
  );
}
