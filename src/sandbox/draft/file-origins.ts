/**
 * Marks what calls write with the origins of untrusted text in it: files and links by path and content, and names that a
 * call has chosen by path. Marks of earlier contents are kept, because Undo can restore those contents. If a call writes
 * many files, one mark covers the top-level folder. Above the limit, marks become wider.
 */
import { createHash } from "node:crypto";
import { readlink } from "node:fs/promises";
import { relative } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import { atPlace, openForReading } from "../../lib/working-folder.ts";
import type { FileOrigins, WrittenEntry } from "../../ports/file-origins.ts";
import type { FileMark, FolderMarks, Ledger } from "../../ports/ledger.ts";
import { areFewPlainNames, distinctOrigins, type Origin, viaStore } from "../../ports/origin.ts";
import { readEntry } from "../effects/entry-state.ts";
import { readContent } from "../effects/file-content.ts";
import { createFolderCursor, type FolderCursor } from "../effects/open-folder.ts";
import { createPace, type Pace } from "../effects/pace.ts";
import { decodePath, displayPath, encodeBytes } from "../effects/raw-path.ts";

export const maxMarks = 600;
export const wholeFolder = ".";
/** Per call and top-level folder. Above this, one mark covers the folder. */
const maxEntriesPerFolder = 40;

export function createFileOrigins(ledger: Ledger): FileOrigins {
  const idOf = (root: string) => createHash("sha256").update(root).digest("hex");

  async function marksOf(root: string): Promise<FileMark[]> {
    return (await ledger.get("file-origins", idOf(root)))?.body.marks ?? [];
  }

  async function currentMarks(seen: string, marks: readonly FileMark[]): Promise<FileMark[]> {
    if (marks.length === 0) return [];
    return await withCursor(seen, async (cursor, pace) => {
      const found: FileMark[] = [];
      for (const ofPath of Map.groupBy(marks, ({ path }) => path).values())
        found.push(...(await matchingMarks(cursor, ofPath, pace)));
      const names = found.filter(({ isName }) => isName).map(lastName);
      return areFewPlainNames(names) ? found.filter(({ isName }) => !isName) : found;
    });
  }

  async function add(root: string, written: readonly FileMark[]): Promise<void> {
    if (written.length === 0) return;
    const change = ({ marks }: FolderMarks): FolderMarks => ({ root, marks: withMarks(marks, written) });
    const id = idOf(root);
    const body = change({ root, marks: [] });
    if (await ledger.create("file-origins", id, { state: "kept", body, group: id })) return;
    await ledger.transition("file-origins", id, ["kept"], "kept", change);
  }

  return {
    async mark({ root, seen }, written, origins) {
      if (origins.length === 0 || written.length === 0) return;
      await add(
        root,
        await withCursor(seen, (cursor, pace) => marksFor(cursor, written, distinctOrigins(origins), pace)),
      );
    },
    markFolder: (root, path, origins) => add(root, [{ path, origins: distinctOrigins(origins) }]),
    async read({ root, seen }, path) {
      const marks = await marksOf(root);
      if (marks.length === 0) return [];
      const file = path === undefined ? undefined : await readFileAt(seen, path);
      if (file === "missing") return [];
      const found = file === undefined ? await currentMarks(seen, marks) : marks.filter((mark) => isOf(mark, file));
      return distinctOrigins(found.flatMap((mark) => viaStore(mark.origins, shownPlace(mark))));
    },
  };
}

async function withCursor<T>(seen: string, work: (cursor: FolderCursor, pace: Pace) => Promise<T>): Promise<T> {
  // `seen` may be a link in /proc, and cursors follow no links, so `/.` opens the folder itself.
  const cursor = createFolderCursor(`${seen}/.`, "peek");
  try {
    return await work(cursor, createPace());
  } finally {
    cursor.close();
  }
}

async function marksFor(
  cursor: FolderCursor,
  written: readonly WrittenEntry[],
  origins: Origin[],
  pace: Pace,
): Promise<FileMark[]> {
  const marks: FileMark[] = [];
  for (const [top, inside] of Map.groupBy(written, ({ path }) => (path.includes("/") ? topOf(path) : wholeFolder))) {
    if (inside.length > maxEntriesPerFolder) {
      marks.push({ path: top ?? wholeFolder, origins });
      continue;
    }
    for (const { path, isNew } of inside) {
      const hash = await hashAt(cursor, path, pace);
      if (hash !== undefined) marks.push({ path, hash, origins });
      if (isNew) marks.push({ path, isName: true, origins });
    }
  }
  return marks;
}

/** Of a file's content or a link's target. Undefined for other entries, which have nothing but a name. */
async function hashAt(cursor: FolderCursor, path: string, pace: Pace): Promise<string | undefined> {
  const place = placeAt(cursor, path);
  if (place === undefined) return undefined;
  const { state } = await readEntry(place.folder, place.name, pace);
  if (state.type === "link") return `link:${createHash("sha256").update(state.target).digest("hex")}`;
  return state.type === "file" ? state.hash : undefined;
}

function placeAt(cursor: FolderCursor, path: string) {
  const parts = decodePath(path);
  const name = parts.pop();
  const folder = cursor.at(parts);
  return folder === undefined || name === undefined ? undefined : { folder, name };
}

async function matchingMarks(cursor: FolderCursor, marks: readonly FileMark[], pace: Pace): Promise<FileMark[]> {
  const [{ path } = { path: wholeFolder }] = marks;
  const place = path === wholeFolder ? undefined : placeAt(cursor, path);
  const isThere = path === wholeFolder || place?.folder.stat(place.name) !== undefined;
  if (!isThere) return [];
  const hash = marks.some((mark) => mark.hash !== undefined) ? await hashAt(cursor, path, pace) : undefined;
  return marks.filter((mark) => mark.hash === undefined || mark.hash === hash);
}

function lastName({ path }: FileMark): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function shownPlace(mark: FileMark): string {
  return mark.isName ? `the name ${displayPath(lastName(mark))}` : `file ${displayPath(mark.path)}`;
}

interface ReadFile {
  path: string;
  hash: string;
}

/** Who reads a file by its path knows its name already. */
function isOf(mark: FileMark, { path, hash }: ReadFile): boolean {
  if (mark.isName) return false;
  if (mark.hash !== undefined) return mark.hash === hash;
  return mark.path === wholeFolder || path === mark.path || path.startsWith(`${mark.path}/`);
}

async function readFileAt(workingFolder: string, path: string): Promise<ReadFile | "missing" | undefined> {
  try {
    return await atPlace({ workingFolder, path }, async (place) => {
      await using handle = await openForReading(place, "file");
      const { size } = await handle.stat();
      const { hash } = await readContent(handle.fd, size, createPace());
      const real = await readlink(`/proc/self/fd/${handle.fd}`);
      const isView = /^\/proc\/\d+\/fd\/\d+$/.test(workingFolder);
      const root = isView ? await readlink(workingFolder) : workingFolder;
      return { path: encodeBytes(Buffer.from(relative(root, real))), hash };
    });
  } catch (thrown) {
    // A file that does not exist yet is about to be created, so the call reads nothing.
    return codeOf(thrown) === "ENOENT" ? "missing" : undefined;
  }
}

export function topOf(path: string): string {
  return path.split("/", 1)[0] ?? wholeFolder;
}

/**
 * Keeps the marks within the limit. None is ever dropped, because Undo, or another conversation's draft, may bring back what
 * it is about. Above the limit, the oldest become wider: first the marks of one path become one for whatever is there, then
 * those below a top-level folder become one for the folder, and at last one is for the whole working folder.
 */
export function withMarks(before: readonly FileMark[], written: readonly FileMark[]): FileMark[] {
  const pathOf = ({ path }: FileMark) => path;
  const folderOf = ({ path }: FileMark) => (path === wholeFolder ? undefined : topOf(path));
  const all = joined([...before, ...written]);
  return joinedToOne(widened(widened(all, pathOf), folderOf));
}

/** Replaces the marks with the same new path by one, oldest first, until there are few enough. */
function widened(marks: readonly FileMark[], newPath: (mark: FileMark) => string | undefined): FileMark[] {
  let excess = marks.length - maxMarks;
  if (excess <= 0) return [...marks];
  const wide = new Set<string>();
  for (const [path, group] of Map.groupBy(marks, newPath)) {
    if (excess <= 0) break;
    // For one mark alone, a wider one is no saving.
    if (path === undefined || group.length === 1) continue;
    wide.add(path);
    excess -= group.length - 1;
  }
  const widen = (mark: FileMark): FileMark => {
    const path = newPath(mark);
    return path !== undefined && wide.has(path) ? { path, origins: mark.origins } : mark;
  };
  return joined(marks.map(widen));
}

function joinedToOne(marks: readonly FileMark[]): FileMark[] {
  if (marks.length <= maxMarks) return [...marks];
  const count = marks.length - maxMarks + 1;
  const origins = marks.slice(0, count).flatMap((mark) => mark.origins);
  return joined([{ path: wholeFolder, origins }, ...marks.slice(count)]);
}

/** Marks about the same become one, with the origins of all. */
function joined(marks: readonly FileMark[]): FileMark[] {
  const byKey = Map.groupBy(marks, ({ path, hash, isName }) => JSON.stringify([path, hash, isName]));
  return [...byKey.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [{ ...first, origins: distinctOrigins(same.flatMap(({ origins }) => origins)) }];
  });
}
