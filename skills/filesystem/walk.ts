/**
 * Lists a folder and its subfolders in name order, up to a limit. Never follows links. Where the system permits, it
 * opens entries through folder handles so that nobody can replace a folder by a link during the walk.
 */
import { constants } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../src/plugin-sdk/errors.ts";
import { pathOf } from "../../src/plugin-sdk/working-folder.ts";

export interface Entry {
  /** Relative to the start folder, with `/` as separator. */
  path: string;
  /** For system calls. Valid only until the next entry is requested. */
  place: string;
  kind: "file" | "folder" | "link" | "other";
}

export interface WalkOptions {
  /** The maximum number of levels; 1 means only the start folder. */
  depth: number;
  entries: number;
  skips(name: string, kind: Entry["kind"]): boolean;
}

/** Returns true if there were more entries than the limit. Skips folders that can't be opened. */
export async function* walk(
  handle: FileHandle,
  path: string,
  options: WalkOptions,
): AsyncGenerator<Entry, { isCut: boolean }> {
  let left = options.entries;

  async function* visit(folder: FileHandle, place: string, prefix: string, depth: number): AsyncGenerator<Entry> {
    const here = pathOf(folder, place);
    for (const { name, kind } of await entriesOf(here)) {
      if (options.skips(name, kind)) continue;
      if (left <= 0) {
        left = -1;
        return;
      }
      left -= 1;
      const entry: Entry = { path: `${prefix}${name}`, place: join(here, name), kind };
      yield entry;
      if (kind !== "folder" || depth >= options.depth) continue;
      const inner = await openFolder(entry.place);
      if (inner === undefined) continue;
      try {
        yield* visit(inner, join(place, name), `${entry.path}/`, depth + 1);
      } finally {
        await inner.close();
      }
    }
  }

  yield* visit(handle, path, "", 1);
  return { isCut: left < 0 };
}

async function entriesOf(folder: string): Promise<{ name: string; kind: Entry["kind"] }[]> {
  const entries: { name: string; kind: Entry["kind"] }[] = [];
  for await (const entry of await opendir(folder)) {
    const kind = entry.isFile() ? "file" : entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other";
    entries.push({ name: entry.name, kind });
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function openFolder(path: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    return await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (thrown) {
    if (codeOf(thrown) === undefined) throw thrown;
    return undefined;
  }
}
