/**
 * Resolves a tool's path and keeps it in the working folder:
 *
 *   1. check the text: no NUL, relative or absolute inside the working folder, no `..` above it
 *   2. open the folders on the path one by one, and check the real path of each open folder
 *   3. work through the open folder so that a link created in the meantime changes nothing
 *
 * Background commands can change links at any time, and this process may write where they may not.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { codeOf, ifMissing, messageOf, RemoraError } from "./errors.ts";
import { isInside } from "./is-inside.ts";

export interface Place {
  /** As people and the model see it, relative to the working folder; `.` is the folder itself. */
  shown: string;
  /** For system calls. Valid while the work runs. */
  path: string;
  /** Throws if the opened file is outside the working folder. */
  check(handle: FileHandle): Promise<void>;
}

export interface Opening {
  workingFolder: string;
  path: string;
  makesFolders?: boolean;
}

/** On Linux, swapped links don't affect paths through open descriptors. */
const hasDescriptorPaths = process.platform === "linux";
/** A little below the limits of operating systems. */
const maxPathCharacters = 1_000;
const { O_RDONLY, O_DIRECTORY, O_NONBLOCK } = constants;
const folderFlags = O_RDONLY | O_DIRECTORY;

/** Opens the folder that contains `path`, and runs `work` there. `.` means the working folder. */
export async function atPlace<T>(opening: Opening, work: (place: Place) => Promise<T>): Promise<T> {
  const { root, shownRoot } = await rootOf(opening.workingFolder);
  const parts = partsOf(opening.path, shownRoot ?? opening.workingFolder, shownRoot ?? root);
  const shown = parts.join("/") || ".";
  const name = parts.pop();
  let folder = await open(root, folderFlags);
  const check = (handle: FileHandle, path: string) => checkInside(handle, path, shownRoot ?? root, shown);
  try {
    let path = root;
    for (const part of parts) {
      const next = join(pathOf(folder, path), part);
      if (opening.makesFolders === true) await mkdir(next).catch(ignoreExisting);
      const inner = await open(next, folderFlags);
      await folder.close();
      folder = inner;
      path = join(path, part);
      await check(folder, path);
    }
    const target = name === undefined ? pathOf(folder, path) : join(pathOf(folder, path), name);
    return await work({ shown, path: target, check: (handle) => check(handle, join(path, name ?? "")) });
  } finally {
    await folder.close();
  }
}

/** True if the text of the path leads out of the working folder, wherever links lead. */
export async function leadsOut({ workingFolder, path }: Opening): Promise<boolean> {
  const { root, shownRoot } = await rootOf(workingFolder);
  const bases = [shownRoot ?? workingFolder, shownRoot ?? root].map((base) => resolve(base));
  return !bases.some((base) => isInside(resolve(base, path), base));
}

/** For a draft, the working folder is an open descriptor of a process in the view; its link names the real folder. */
async function rootOf(workingFolder: string): Promise<{ root: string; shownRoot?: string }> {
  const isInView = /^\/proc\/\d+\/fd\/\d+$/.test(workingFolder);
  if (!isInView) return { root: await realpath(workingFolder) };
  return { root: workingFolder, shownRoot: await readlink(workingFolder) };
}

/** Refuses pipes and devices instead of waiting for them. */
export async function openForReading(place: Place, kind: "file" | "folder"): Promise<FileHandle> {
  const handle = await open(place.path, O_RDONLY | O_NONBLOCK);
  try {
    await place.check(handle);
    const found = await handle.stat();
    if (kind === "file" && found.isDirectory())
      throw fileProblem(place.shown, "is a folder: name a file in it, or use list_folder");
    if (kind === "folder" && !found.isDirectory())
      throw fileProblem(place.shown, "is a file, not a folder: use read_file");
    if (kind === "file" && !found.isFile())
      throw fileProblem(place.shown, "is no ordinary file (a pipe, socket or device)");
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

export function pathOf(handle: FileHandle, path: string): string {
  return hasDescriptorPaths ? `/proc/self/fd/${handle.fd}` : path;
}

export function fileProblem(shown: string, what: string): RemoraError {
  return new RemoraError({ code: "filesystem.path", place: shown, message: what });
}

/** Says what to do about expected system errors. Undefined for unexpected ones. */
export function explainFileProblem(thrown: unknown, path: string): string | undefined {
  if (thrown instanceof RemoraError) return thrown.message;
  const shown = shownPath(path);
  switch (codeOf(thrown)) {
    case "ENOENT":
      return `${shown} does not exist. list_folder and search_files show what there is.`;
    case "ENOTDIR":
      return `${shown} can't be reached: a part of it is a file, not a folder.`;
    case "EISDIR":
      return `${shown} is a folder: name a file in it, or use list_folder.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `${shown} may not be opened here: its permissions do not allow it.`;
    case "ENAMETOOLONG":
      return `${shown} is too long for a file's name: choose a shorter one.`;
    case "ELOOP":
      return `${shown} is a link that leads in a circle: name the file itself.`;
    case "ENOSPC":
    case "EDQUOT":
      return `${shown} was not written, because the disk is full. What was there before is unchanged.`;
    case undefined:
      return undefined;
    default:
      return `${shown} can't be used: ${messageOf(thrown)}`;
  }
}

function shownPath(path: string): string {
  return JSON.stringify(path.length > 300 ? `${path.slice(0, 300)}…` : path);
}

/** Throws if the path leads out of the working folder. Ignores links, which are checked when folders are opened. */
function partsOf(written: string, workingFolder: string, root = workingFolder): string[] {
  const shown = shownPath(written);
  if (written === "")
    throw fileProblem(shown, 'the path is empty: name a file or folder, or "." for the working folder');
  if (written.length > maxPathCharacters)
    throw fileProblem(shown, `the path is longer than ${maxPathCharacters} characters: choose a shorter one`);
  if (written.includes("\0")) throw fileProblem(shown, "a path can't contain a NUL character: remove it");
  const base = isInside(resolve(workingFolder, written), resolve(workingFolder)) ? resolve(workingFolder) : root;
  const path = resolve(base, written);
  if (!isInside(path, base)) throw outside(shown);
  return relative(base, path)
    .split(sep)
    .filter((part) => part !== "");
}

function outside(shown: string): RemoraError {
  return fileProblem(
    shown,
    "lies outside of the working folder, which file tools never leave: use a path inside of it",
  );
}

async function checkInside(handle: FileHandle, path: string, root: string, shown: string): Promise<void> {
  const real = hasDescriptorPaths ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
  if (!isInside(real, root)) throw outside(shown);
}

function ignoreExisting(thrown: unknown): void {
  if (codeOf(thrown) !== "EEXIST") throw thrown;
}

/** Returns undefined if nothing is there. Throws for a folder, a link, or anything else but a regular file. */
export async function existingFile(place: Place): Promise<{ mode: number; size: number } | undefined> {
  const found = await lstat(place.path).catch(ifMissing(undefined));
  if (found === undefined) return undefined;
  if (found.isDirectory()) throw fileProblem(place.shown, "is a folder: name a file in it");
  if (found.isSymbolicLink()) throw fileProblem(place.shown, "is a link: name the file that it leads to");
  if (!found.isFile()) throw fileProblem(place.shown, "is no ordinary file (a pipe, socket or device)");
  return { mode: found.mode & 0o777, size: found.size };
}
