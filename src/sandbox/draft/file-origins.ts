/**
 * Marks files with the origins of untrusted text in them, by path and content hash. Marks of earlier contents are kept,
 * because Undo can restore those contents. If a call writes many files, one mark covers the top-level folder. Above the
 * limit, drops the oldest stale marks. If that is not enough, merges the marks of folders by top-level folder. After that, one
 * mark for the whole working folder replaces the oldest remaining ones.
 */
import { createHash } from "node:crypto";
import { readlink } from "node:fs/promises";
import { relative } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import { atPlace, openForReading } from "../../lib/working-folder.ts";
import type { FileOrigins, SeenFolder } from "../../ports/file-origins.ts";
import type { FileMark, FolderMarks, Ledger } from "../../ports/ledger.ts";
import { distinctOrigins, type Origin, viaStore } from "../../ports/origin.ts";
import { readEntry } from "../effects/entry-state.ts";
import { readContent } from "../effects/file-content.ts";
import { createFolderCursor, type FolderCursor } from "../effects/open-folder.ts";
import { createPace, type Pace } from "../effects/pace.ts";
import { decodePath, displayPath, encodeBytes } from "../effects/raw-path.ts";

const maxMarks = 400;
/** Per call and top-level folder. Above this, one mark covers the folder. */
const maxMarksPerFolder = 40;
const wholeFolder = ".";

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
      return found;
    });
  }

  async function add({ root, seen }: SeenFolder, written: readonly FileMark[]): Promise<void> {
    if (written.length === 0) return;
    const before = await marksOf(root);
    const isOverLimit = before.length + written.length > maxMarks;
    const stale = new Set<string>();
    if (isOverLimit) {
      const kept = new Set((await currentMarks(seen, before)).map(markKey));
      for (const mark of before) if (!kept.has(markKey(mark))) stale.add(markKey(mark));
    }
    const change = ({ marks }: FolderMarks): FolderMarks => ({ root, marks: merged(marks, written, stale) });
    const id = idOf(root);
    const body = change({ root, marks: [] });
    if (await ledger.create("file-origins", id, { state: "kept", body, group: id })) return;
    await ledger.transition("file-origins", id, ["kept"], "kept", change);
  }

  return {
    async mark({ root, seen }, paths, origins) {
      if (origins.length === 0 || paths.length === 0) return;
      const written = await withCursor(seen, (cursor, pace) => marksFor(cursor, paths, distinctOrigins(origins), pace));
      await add({ root, seen }, written);
    },
    markFolder: (root, path, origins) => add({ root, seen: root }, [{ path, origins: distinctOrigins(origins) }]),
    async read({ root, seen }, path) {
      const marks = await marksOf(root);
      if (marks.length === 0) return [];
      const file = path === undefined ? undefined : await readFileAt(seen, path);
      if (file === "missing") return [];
      const found = file === undefined ? await currentMarks(seen, marks) : marks.filter((mark) => isOf(mark, file));
      return distinctOrigins(found.flatMap(({ path: at, origins }) => viaStore(origins, `file ${displayPath(at)}`)));
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
  paths: readonly string[],
  origins: Origin[],
  pace: Pace,
): Promise<FileMark[]> {
  const marks: FileMark[] = [];
  for (const [top, inside] of Map.groupBy(paths, (path) => (path.includes("/") ? topOf(path) : wholeFolder))) {
    if (inside.length > maxMarksPerFolder) {
      marks.push({ path: top ?? wholeFolder, origins });
      continue;
    }
    for (const path of inside) {
      const hash = await hashAt(cursor, path, pace);
      if (hash !== undefined) marks.push({ path, hash, origins });
    }
  }
  return marks;
}

async function hashAt(cursor: FolderCursor, path: string, pace: Pace): Promise<string | undefined> {
  const parts = decodePath(path);
  const name = parts.pop();
  const folder = cursor.at(parts);
  if (folder === undefined || name === undefined) return undefined;
  const { state } = await readEntry(folder, name, pace);
  return state.type === "file" ? state.hash : undefined;
}

async function matchingMarks(cursor: FolderCursor, marks: readonly FileMark[], pace: Pace): Promise<FileMark[]> {
  const [{ path } = { path: wholeFolder }] = marks;
  const isThere = path === wholeFolder || cursor.at(decodePath(path)) !== undefined;
  const hash = marks.some((mark) => mark.hash !== undefined) ? await hashAt(cursor, path, pace) : undefined;
  return marks.filter((mark) => (mark.hash === undefined ? isThere : mark.hash === hash));
}

function merged(before: readonly FileMark[], written: readonly FileMark[], stale: ReadonlySet<string>): FileMark[] {
  const replaced = new Set(written.map(markKey));
  const older = before.filter((mark) => mark.hash === undefined || !replaced.has(markKey(mark)));
  let excess = older.length + written.length - maxMarks;
  const held = older.filter((mark) => !stale.has(markKey(mark)) || excess-- <= 0);
  const each = mergedFolders([...held, ...written]);
  if (each.length <= maxMarks) return each;
  const all = mergedFolders(each.map((mark) => (mark.hash === undefined ? { ...mark, path: topOf(mark.path) } : mark)));
  if (all.length <= maxMarks) return all;
  const dropped = all.slice(0, all.length - maxMarks + 1);
  const whole = { path: wholeFolder, origins: distinctOrigins(dropped.flatMap(({ origins }) => origins)) };
  return mergedFolders([whole, ...all.slice(dropped.length)]);
}

function topOf(path: string): string {
  return path.split("/", 1)[0] ?? wholeFolder;
}

function markKey({ path, hash }: FileMark): string {
  return `${hash ?? "folder"} ${path}`;
}

/** Merges marks on the same folder. The merged mark has the origins of everything written into the folder. */
function mergedFolders(marks: readonly FileMark[]): FileMark[] {
  const byPath = new Map<string, FileMark>();
  for (const mark of marks) {
    const key = markKey(mark);
    const earlier = mark.hash === undefined ? (byPath.get(key)?.origins ?? []) : [];
    byPath.set(key, { ...mark, origins: distinctOrigins([...earlier, ...mark.origins]) });
  }
  return [...byPath.values()];
}

interface ReadFile {
  path: string;
  hash: string;
}

function isOf(mark: FileMark, { path, hash }: ReadFile): boolean {
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
