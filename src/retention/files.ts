/** Measures and removes files. Nothing follows links, and files that vanish meanwhile are ignored. */
import { lstat, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../lib/errors.ts";
import type { Amount } from "./kinds.ts";

export interface FoundFile {
  path: string;
  /** Relative to the folder that was searched, with `/`. */
  name: string;
  bytes: number;
  changedAt: number;
}

const prunedPrefix = ".pruned-";

/** All files and links below `folder`, at any depth. None if it is missing. */
async function* filesBelow(folder: string, inside = ""): AsyncGenerator<FoundFile> {
  for (const entry of await entriesOf(folder)) {
    const [path, name] = [join(folder, entry.name), `${inside}${entry.name}`];
    if (entry.isDirectory()) {
      yield* filesBelow(path, `${name}/`);
      continue;
    }
    const info = await lstat(path).catch(goneAs(undefined));
    if (info !== undefined) yield { path, name, bytes: info.size, changedAt: info.mtimeMs };
  }
}

export async function sizeOf(folder: string, isMeant: (file: FoundFile) => boolean = () => true): Promise<Amount> {
  let [items, bytes] = [0, 0];
  for await (const file of filesBelow(folder)) {
    if (!isMeant(file)) continue;
    items += 1;
    bytes += file.bytes;
  }
  return { items, bytes };
}

/** The newest change of the folder, its files and its subfolders. Undefined if it is missing. */
export async function newestChange(folder: string): Promise<number | undefined> {
  const own = await lstat(folder).catch(goneAs(undefined));
  if (own === undefined) return undefined;
  let newest = own.mtimeMs;
  for (const entry of own.isDirectory() ? await entriesOf(folder) : [])
    newest = Math.max(newest, (await newestChange(join(folder, entry.name))) ?? 0);
  return newest;
}

/** Removes files for which `isOld` resolves to true, and then folders that have become empty. */
export async function pruneFilesBelow(
  folder: string,
  isOld: (file: FoundFile) => Promise<boolean>,
  isDryRun: boolean,
): Promise<Amount> {
  let [items, bytes] = [0, 0];
  const emptied = new Set<string>();
  for await (const file of filesBelow(folder)) {
    if (!(await isOld(file))) continue;
    items += 1;
    bytes += file.bytes;
    if (isDryRun) continue;
    await unlink(file.path).catch(goneAs(undefined));
    emptied.add(dirname(file.path));
  }
  emptied.delete(folder);
  for (const one of emptied) await rmdir(one).catch(goneAs(undefined));
  return { items, bytes };
}

/** Renames the folder before it removes it, so that nobody sees half of it. */
export async function removeFolder(folder: string): Promise<void> {
  const aside = join(dirname(folder), `${prunedPrefix}${basename(folder)}`);
  await rm(aside, { recursive: true, force: true });
  await rename(folder, aside).catch(goneAs(undefined));
  await rm(aside, { recursive: true, force: true });
}

/** Removes what a crash has left of `removeFolder`. */
export async function removeLeftovers(parent: string): Promise<void> {
  for (const { name } of await entriesOf(parent))
    if (name.startsWith(prunedPrefix)) await rm(join(parent, name), { recursive: true, force: true });
}

export async function foldersIn(parent: string): Promise<string[]> {
  const entries = await entriesOf(parent);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
}

async function entriesOf(folder: string) {
  return await readdir(folder, { withFileTypes: true }).catch(goneAs([]));
}

/** Other processes may remove or fill the same folders. */
function goneAs<T>(otherwise: T): (thrown: unknown) => T {
  return (thrown) => {
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY", "EEXIST"].includes(codeOf(thrown) ?? "")) throw thrown;
    return otherwise;
  };
}
