/** Copies a skill's folder. Refuses links that lead out of it, special files, and too many or too large files. */
import { chmod, copyFile, lstat, mkdir, readdir, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { RemoraError } from "../lib/errors.ts";

export interface CopiedFile {
  path: string;
  bytes: number;
  isExecutable: boolean;
}

const maxFiles = 500;
const maxBytes = 20 * 1024 * 1024;
const maxDepth = 10;

export async function copySkill(from: string, to: string): Promise<CopiedFile[]> {
  const root = await realpath(from);
  const files: CopiedFile[] = [];
  let bytes = 0;

  async function copyFolder(source: string, target: string, depth: number): Promise<void> {
    if (depth > maxDepth) throw refused(from, `${relative(root, source)} is more than ${maxDepth} folders deep`);
    await mkdir(target, { recursive: true });
    await chmod(target, 0o755);
    for (const name of (await readdir(source)).sort()) {
      if (name === ".git") continue;
      await copyEntry(join(source, name), join(target, name), depth);
    }
  }

  async function copyEntry(entry: string, target: string, depth: number): Promise<void> {
    const shown = relative(root, entry);
    const real = await realpath(entry).catch(() => undefined);
    if (real === undefined || !(real === root || real.startsWith(root + sep)))
      throw refused(from, `${shown} is a link that leads out of it, or nowhere`);
    const found = await lstat(real);
    if (found.isDirectory()) return await copyFolder(real, target, depth + 1);
    if (!found.isFile()) throw refused(from, `${shown} is not a regular file`);
    bytes += found.size;
    const isExecutable = (found.mode & 0o111) !== 0;
    files.push({ path: relative(to, target), bytes: found.size, isExecutable });
    if (files.length > maxFiles) throw refused(from, `it has more than ${maxFiles} files`);
    if (bytes > maxBytes) throw refused(from, `it has more than ${maxBytes / 1024 / 1024} MiB`);
    await copyFile(real, target);
    await chmod(target, isExecutable ? 0o755 : 0o644);
  }

  await copyFolder(root, to, 0);
  return files;
}

function refused(from: string, why: string): RemoraError {
  return new RemoraError({ code: "skills.refused", place: from, message: `this skill can't be added: ${why}` });
}
