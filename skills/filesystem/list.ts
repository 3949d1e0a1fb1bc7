/** `list_folder` returns one line per entry. Folders end in a slash, files show their size, and links their target. */
import { lstat, readlink } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { JsonObject, PluginContext } from "../../src/plugin-sdk/plugin.ts";
import { openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { atReadable } from "./outputs.ts";
import { type Entry, walk } from "./walk.ts";

const maxEntries = 1_000;
const deepest = 6;

export function listFolder(input: JsonObject, context: PluginContext): Promise<string> {
  const path = typeof input.path === "string" ? input.path : ".";
  const depth = typeof input.depth === "number" ? Math.min(Math.max(1, Math.floor(input.depth)), deepest) : 1;
  return atReadable(path, context, async (place) => {
    await using handle = await openForReading(place, "folder");
    const lines: string[] = [];
    const entries = walk(handle, place.path, {
      depth,
      entries: maxEntries,
      skips: (name) => depth > 1 && isBulk(name),
    });
    let next = await entries.next();
    for (; next.done !== true; next = await entries.next()) lines.push(await describe(next.value));
    if (lines.length === 0) return `(${place.shown} is empty)`;
    const note = next.value.isCut
      ? [`(more than ${maxEntries} entries; list a folder below, or use search_files)`]
      : [];
    return [...lines, ...note].join("\n");
  });
}

export function isBulk(name: string): boolean {
  return name === ".git" || name === "node_modules";
}

async function describe({ path, place, kind }: Entry): Promise<string> {
  if (kind === "folder") return `${path}/`;
  if (kind === "link") return `${path} -> ${await readlink(place).catch(() => "?")}`;
  if (kind === "other") return `${path} (pipe, socket or device)`;
  const size = await lstat(place).then(
    (found) => formatBytes(found.size),
    () => "gone",
  );
  return `${path}  ${size}`;
}
