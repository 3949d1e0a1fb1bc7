/** Opens the files of a call. They must be inside the working folder, in a known format, and not too large in total. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";
import { atPlace, existingFile, openForReading } from "../../src/plugin-sdk/working-folder.ts";
import { dataProblem } from "./problem.ts";
import type { DataFile, SavedFormat } from "./requests.ts";

export interface OpenFile {
  handle: FileHandle;
  name: string;
  size: number;
  format: DataFile["format"];
}

const formats = new Map<string, DataFile["format"]>([
  ["csv", "csv"],
  ["tsv", "csv"],
  ["tab", "csv"],
  ["txt", "csv"],
  ["json", "json"],
  ["geojson", "json"],
  ["jsonl", "json-lines"],
  ["ndjson", "json-lines"],
]);

const savedFormats = new Map<string, SavedFormat>([
  ["csv", "csv"],
  ["tsv", "tsv"],
  ["json", "json"],
  ["jsonl", "json-lines"],
  ["md", "markdown"],
]);

export async function openFiles(
  names: readonly string[],
  workingFolder: string,
  megabytes: number,
): Promise<OpenFile[]> {
  const files: OpenFile[] = [];
  try {
    for (const name of new Set(names)) files.push(await openFile(name, workingFolder));
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (size > megabytes * 1024 * 1024) {
      const what = files.length === 1 ? "has" : "have together";
      const shown = files.map((file) => file.name).join(", ");
      throw dataProblem(shown, `${what} ${formatBytes(size)}; the limit is ${megabytes} MiB: use a part of the data`);
    }
    return files;
  } catch (thrown) {
    await closeAll(files.map(({ handle }) => handle));
    throw thrown;
  }
}

async function openFile(name: string, workingFolder: string): Promise<OpenFile> {
  const format = formats.get(endingOf(name));
  if (format === undefined) {
    throw dataProblem(
      name,
      `is not a supported data file: use ${[...formats.keys()].map((ending) => `.${ending}`).join(", ")}`,
    );
  }
  return await atPlace({ workingFolder, path: name }, async (place) => {
    const handle = await openForReading(place, "file");
    const { size } = await handle.stat();
    return { handle, name: place.shown, size, format };
  });
}

export async function closeAll(handles: readonly FileHandle[]): Promise<void> {
  await Promise.all(handles.map((handle) => handle.close()));
}

/** Skips missing fonts, because only rare characters need them. */
export async function openFonts(paths: readonly string[]): Promise<FileHandle[]> {
  const handles: FileHandle[] = [];
  for (const path of paths) {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
    if (handle !== undefined) handles.push(handle);
  }
  return handles;
}

export function savedFormatOf(name: string): SavedFormat {
  const format = savedFormats.get(endingOf(name));
  if (format !== undefined) return format;
  throw dataProblem(
    "save_as",
    `"${name}" must end in ${[...savedFormats.keys()].map((ending) => `.${ending}`).join(", ")}`,
  );
}

export function checkPictureName(name: string): void {
  if (endingOf(name) !== "png") throw dataProblem("save_as", `"${name}" must end in .png`);
}

export async function freeName(name: string, workingFolder: string): Promise<string> {
  const stem = name.replace(/\.[^.]*$/, "");
  const ending = name.slice(stem.length);
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${stem}-${number}${ending}`;
    const before = await atPlace({ workingFolder, path: candidate, makesFolders: true }, existingFile);
    if (before === undefined) return candidate;
  }
}

/** Must not overwrite an input file, or create a file that programs read as settings. */
export async function saveFile(
  name: string,
  content: Uint8Array,
  { workingFolder, read }: { workingFolder: string; read: readonly string[] },
): Promise<string> {
  return await atPlace({ workingFolder, path: name, makesFolders: true }, async (place) => {
    if (read.includes(place.shown))
      throw dataProblem("save_as", `${place.shown} is one of the input files: choose another name`);
    if (place.shown.split("/").some((part) => part.startsWith("."))) {
      throw dataProblem("save_as", `${place.shown} is hidden: remove the leading dot`);
    }
    const before = await existingFile(place);
    await replaceFile(place, content, before?.mode ?? 0o644);
    return `${before === undefined ? "Written to" : "Replaced"} ${place.shown} (${formatBytes(content.length)}).`;
  });
}

function endingOf(name: string): string {
  return /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}
