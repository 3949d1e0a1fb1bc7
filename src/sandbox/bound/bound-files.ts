/**
 * Stores and compares the files that approvals cover. Each set has a folder:
 *
 *   <id>/files.json   what was looked for, and the state of every file
 *   <id>/copies/*     the covered files as they were, in the format of an overlay's lower folder, up to a size. The call
 *                     sees them instead of the folder's, so nothing that changes while it runs can slip in.
 *   <id>/rest/*       everything else in the folder, if it is not too much: no text tells all that a program opens
 *   <id>/hidden-…/    whiteouts of what the two don't hold, for one run
 */

import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { mkdir, readdir, readFile, realpath, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { codeOf, ifMissing } from "../../lib/errors.ts";
import { never } from "../../lib/never.ts";
import type { BoundFiles } from "../../ports/bound-files.ts";
import type { ApprovalState } from "../../ports/card.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { copyEntry } from "../effects/copy-entry.ts";
import { decodePath, displayPath, type RawPath } from "../effects/raw-path.ts";
import { removeTree } from "../effects/remove-tree.ts";
import { createWhiteoutMaker } from "../effects/whiteout.ts";
import type { OpenedByCall, ReadCommandFiles } from "./find-bound.ts";
import {
  createMergedReader,
  type FolderListing,
  type FoundContent,
  listMerged,
  type MergedFolders,
} from "./folder-listing.ts";

/** What the files of a call are looked for with. */
export interface BoundQuery {
  /** Commands of a shell. */
  commands: string[];
  names: string[];
}

interface StoredFiles extends BoundQuery {
  digest: string;
  files: Record<RawPath, string>;
  /** Stamps of what is in `rest`. Absent if it was too much, or can't be used here. */
  rest?: Record<RawPath, string>;
}

export interface FrozenFiles {
  /** Topmost first. */
  layers: string[];
  /** What has changed since, and the call sees as it was. It must not write these. */
  stale: RawPath[];
}

/** Larger files are compared by size, times and inode, and are not copied. */
const maxHashedBytes = 4 * 1024 * 1024;
const maxCopiedBytes = 64 * 1024 * 1024;
const maxCopiedFiles = 5_000;
const maxRestFiles = 20_000;
const maxNames = 3;
const maxChangedNames = 5;
const maxDifferenceCharacters = 60_000;
/** Until the approval is stored. */
const minKeptMs = 10 * 60 * 1000;
/** A call that was approved may run for hours. */
const keptMs = 24 * 60 * 60 * 1000;

export interface BoundStore {
  bind(query: BoundQuery, folders: MergedFolders, conversationId: string): Promise<BoundFiles>;
  /** `isFrozen` means that the call sees the layers of `freeze`. Otherwise all that they hold counts. */
  changedSince(bound: BoundFiles, folders: MergedFolders, isFrozen: boolean): Promise<string[] | undefined>;
  difference(before: BoundFiles, after: BoundFiles): Promise<string | undefined>;
  /** Layers with the files as they were, as far as they could be kept. */
  freeze(bound: BoundFiles, folders: MergedFolders): Promise<FrozenFiles>;
  /** Removes what no open approval and no running call needs. */
  sweep(ledger: Ledger, now: number): Promise<void>;
}

interface Listed {
  folders: MergedFolders;
  listing: FolderListing;
  holdsRest: boolean;
}

const missingFolder: FolderListing = { entries: new Map(), isCut: false };

/** The folder may be made later, and what is in it then is new. */
async function listedIn({ base: named, layer }: MergedFolders): Promise<Omit<Listed, "holdsRest">> {
  const base = await realpath(named).catch(ifMissing(undefined));
  if (base === undefined) return { folders: { base: named, layer }, listing: missingFolder };
  return { folders: { base, layer }, listing: await listMerged({ base, layer }) };
}

/** `canFreeze` tells whether views can have layers that do not count as the call's own writes. */
export function createBoundStore(
  root: string,
  readCommand: ReadCommandFiles,
  canFreeze: () => Promise<boolean>,
): BoundStore {
  const folderOf = (id: string) => join(root, id);

  async function stored({ id }: BoundFiles): Promise<StoredFiles | undefined> {
    const text = await readFile(join(folderOf(id), "files.json"), "utf8").catch(ifMissing(undefined));
    return text === undefined ? undefined : (JSON.parse(text) as StoredFiles);
  }

  async function statesNow(
    query: BoundQuery,
    { folders, listing, holdsRest }: Listed,
    visit: (path: RawPath, found: FoundContent) => Promise<void> = async () => {},
  ) {
    if (listing === missingFolder) return { files: {}, isWhole: false };
    const reader = createMergedReader(folders);
    try {
      const opened: OpenedByCall = { commands: query.commands.map(readCommand), names: query.names };
      const { findBound } = await import("./find-bound.ts");
      const { paths, isWhole } = await findBound(listing, opened, {
        readCommand,
        reader,
        root: folders.base,
        holdsRest,
      });
      const files: Record<RawPath, string> = {};
      for (const path of paths) {
        const entry = listing.entries.get(path);
        const found = entry && (await reader.read(path, entry, paths.length > maxCopiedFiles ? 0 : maxHashedBytes));
        if (found === undefined) continue;
        files[path] = JSON.stringify(found.state);
        await visit(path, found);
      }
      return { files, isWhole };
    } finally {
      reader.close();
    }
  }

  return {
    async bind(query, named, conversationId) {
      const id = randomBytes(12).toString("hex");
      const partial = `${folderOf(id)}.partial`;
      const copies = join(partial, "copies");
      await mkdir(copies, { recursive: true });
      const room = { bytes: maxCopiedBytes, files: maxCopiedFiles };
      const { folders, listing } = await listedIn(named);
      const holdsRest = listing !== missingFolder && fitsWhole(listing) && (await canFreeze());
      const copied = new Set<RawPath>();
      const { files, isWhole } = await statesNow(query, { folders, listing, holdsRest }, async (path, found) => {
        if (await copyWithin(room, folders, copies, path, found)) copied.add(path);
      });
      if (room.files < 0) {
        await removeTree(copies);
        copied.clear();
      }
      const digest = digestOf(files);
      const rest = holdsRest ? { rest: await copyRest(folders, listing, join(partial, "rest"), copied) } : {};
      const record: StoredFiles = { ...query, digest, files, ...rest };
      await writeFileAtomic(join(partial, "files.json"), JSON.stringify(record));
      await rename(partial, folderOf(id));
      const paths = Object.keys(files);
      const names = paths.slice(0, maxNames).map(displayPath);
      const place = { conversationId, folder: named.base, isCommand: query.commands.length > 0 };
      const cut = listing.isCut ? { isCut: true as const } : {};
      return { id, ...place, digest, isWhole, names, count: paths.length, ...cut };
    },
    async changedSince(bound, named, isFrozen) {
      const before = await stored(bound);
      if (before === undefined) return ["the files"];
      const { folders, listing } = await listedIn(named);
      const holdsRest = before.rest !== undefined;
      const { files } = await statesNow(before, { folders, listing, holdsRest });
      const stale = isFrozen || !holdsRest || listing === missingFolder ? [] : await staleOf(before, folders, listing);
      if (digestOf(files) === before.digest && stale.length === 0) return undefined;
      const paths = [...new Set([...Object.keys(before.files), ...Object.keys(files)])].filter(
        (path) => before.files[path] !== files[path],
      );
      paths.push(...stale);
      const more = paths.length - maxChangedNames;
      const names = paths.slice(0, maxChangedNames).map(displayPath);
      return more > 0 ? [...names, `${more} more`] : names;
    },
    async difference(before, after) {
      const [from, to] = [await stored(before), await stored(after)];
      const folders = { base: join(folderOf(before.id), "copies"), layer: join(folderOf(after.id), "copies") };
      const areThere = await Promise.all(Object.values(folders).map((path) => stat(path).catch(() => undefined)));
      if (from === undefined || to === undefined || areThere.includes(undefined)) return undefined;
      const { createDiff } = await import("../effects/create-diff.ts");
      const diff = await createDiff(folders, never);
      if (diff.type === "too-large") return undefined;
      const gone = Object.keys(from.files).filter((path) => to.files[path] === undefined);
      const text = [...gone.map((path) => `deleted: ${displayPath(path)}\n`), diff.text].join("");
      return diff.missing !== undefined || text.length > maxDifferenceCharacters ? undefined : text.trimEnd();
    },
    async freeze(bound, named) {
      const [copies, rest] = ["copies", "rest"].map((name) => join(folderOf(bound.id), name)) as [string, string];
      const areThere = (await stat(copies).catch(() => undefined)) !== undefined;
      const layers = areThere ? [copies] : [];
      const before = await stored(bound);
      if (before?.rest === undefined) return { layers, stale: [] };
      const { folders, listing } = await listedIn(named);
      const stale = await staleOf(before, folders, listing);
      const hidden = join(folderOf(bound.id), `hidden-${randomBytes(4).toString("hex")}`);
      await hide(hidden, before, folders, listing);
      return { layers: [...layers, hidden, rest], stale };
    },
    async sweep(ledger, now) {
      const names = await readdir(root).catch(ifMissing([]));
      const old: { name: string; age: number }[] = [];
      for (const name of names) {
        const found = await stat(folderOf(name)).catch(() => undefined);
        if (found !== undefined && now - found.mtimeMs > minKeptMs) old.push({ name, age: now - found.mtimeMs });
      }
      if (old.length === 0) return;
      const idsOf = async (states: ApprovalState[]) =>
        new Set((await ledger.list("approval", { states })).flatMap(({ body }) => body.bound?.id ?? []));
      const [waiting, used] = [await idsOf(["open", "approved"]), await idsOf(["consumed"])];
      for (const { name, age } of old) {
        if (!waiting.has(name) && (age > keptMs || !used.has(name))) await removeTree(folderOf(name));
      }
    },
  };
}

function fitsWhole({ entries, isCut }: FolderListing): boolean {
  let bytes = 0;
  for (const { bytes: size } of entries.values()) bytes += size;
  return !isCut && entries.size <= maxRestFiles && bytes <= maxCopiedBytes;
}

/** Keeps stamps to tell what has changed, because most of it is never looked at. */
async function copyRest(
  folders: MergedFolders,
  { entries }: FolderListing,
  to: string,
  copied: ReadonlySet<RawPath>,
): Promise<Record<RawPath, string>> {
  await mkdir(to, { recursive: true });
  const isWanted = (path: RawPath) => !copied.has(path);
  return await stampsOf(folders, entries, isWanted, async (path, found) => {
    const parts = decodePath(path);
    const isFolder = entries.get(path)?.type === "folder";
    await makeFolders(isFolder ? parts : parts.slice(0, -1), folders, to);
    if (!isFolder) await copyEntry(found, Buffer.concat([Buffer.from(`${to}/`), joined(parts)]));
  });
}

/** What the layers hold. Pipes, devices and what could not be read are not held. */
function isHeld({ rest = {}, files }: StoredFiles, path: RawPath): boolean {
  return rest[path] !== undefined || /^\{"type":"(?:file|link)"/.test(files[path] ?? "");
}

/** What has changed or gone of the rest, and what has appeared. */
async function staleOf(before: StoredFiles, folders: MergedFolders, { entries }: FolderListing): Promise<RawPath[]> {
  const { rest = {} } = before;
  const now = await stampsOf(folders, entries, (path) => rest[path] !== undefined);
  const changed = Object.keys(rest).filter((path) => now[path] !== rest[path]);
  // A pipe or socket is neither kept nor hidden.
  const appeared = [...entries].filter(([path, { type }]) => type !== "special" && !isHeld(before, path));
  return [...changed, ...appeared.map(([path]) => path)];
}

/** A folder's own times change with what is in it, which is looked at anyway. */
async function stampsOf(
  folders: MergedFolders,
  entries: FolderListing["entries"],
  isWanted: (path: RawPath) => boolean,
  visit: (path: RawPath, found: FoundContent) => Promise<void> = async () => {},
): Promise<Record<RawPath, string>> {
  const reader = createMergedReader(folders);
  const stamps: Record<RawPath, string> = {};
  try {
    for (const [path, entry] of entries) {
      if (!isWanted(path) || entry.type === "special") continue;
      // -1, so that no file is read.
      const found = await reader.read(path, entry, -1);
      if (found === undefined) continue;
      try {
        await visit(path, found);
        stamps[path] = JSON.stringify(found.state);
      } catch (thrown) {
        // It can't be read, so the call can't read it either.
        if (codeOf(thrown) !== "EACCES") throw thrown;
      }
    }
  } finally {
    reader.close();
  }
  return stamps;
}

/**
 * Puts whiteouts over what is not held, topmost only. In a layer of its own, so that no folder on the way can be a link; what
 * was a file or link when people were asked covers everything that is below it now.
 */
async function hide(
  to: string,
  before: StoredFiles,
  folders: MergedFolders,
  { entries }: FolderListing,
): Promise<void> {
  mkdirSync(to);
  const whiteouts = createWhiteoutMaker(dirname(to));
  const covered = new Set<RawPath>();
  for (const [path, { type }] of entries) {
    const above = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const isCovered = covered.has(above);
    if (isCovered || (isHeld(before, path) && !isFolderState(before, path))) covered.add(path);
    if (isCovered || isHeld(before, path) || type === "special") continue;
    covered.add(path);
    const parts = decodePath(path);
    await makeFolders(parts.slice(0, -1), folders, to);
    await whiteouts.make(Buffer.concat([Buffer.from(`${to}/`), joined(parts)]));
  }
}

function isFolderState({ rest = {} }: StoredFiles, path: RawPath): boolean {
  return rest[path]?.startsWith('{"type":"folder"') === true;
}

function digestOf(files: Readonly<Record<RawPath, string>>): string {
  const sorted = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex");
}

/** Copies a file or link, unless there is too much. `room.files` is then negative. */
async function copyWithin(
  room: { bytes: number; files: number },
  { base, layer }: MergedFolders,
  copies: string,
  path: RawPath,
  { state, folder, name }: FoundContent,
): Promise<boolean> {
  if (room.files < 0 || (state.type !== "file" && state.type !== "link")) return false;
  room.files -= 1;
  if (state.type === "file") room.bytes -= state.bytes;
  // A stamp stands for a large file, or for one that can't be read.
  const isWhole = state.type === "link" || /^[0-9a-f]{64}$/.test(state.hash);
  if (room.bytes < 0) room.files = -1;
  if (room.files < 0 || !isWhole) return false;
  const parts = decodePath(path);
  await makeFolders(parts.slice(0, -1), { base, layer }, copies);
  await copyEntry({ folder, name }, Buffer.concat([Buffer.from(`${copies}/`), joined(parts)]));
  return true;
}

async function makeFolders(parts: readonly Buffer[], { base, layer }: MergedFolders, copies: string): Promise<void> {
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const path = joined(parts.slice(0, depth));
    const target = Buffer.concat([Buffer.from(`${copies}/`), path]);
    const inside = (root: string) => Buffer.concat([Buffer.from(`${root}/`), path]);
    if ((await stat(target).catch(() => undefined)) !== undefined) continue;
    const inLayer = layer === undefined ? undefined : await stat(inside(layer)).catch(() => undefined);
    const mode = (inLayer ?? (await stat(inside(base)).catch(() => undefined)))?.mode ?? 0o755;
    mkdirSync(target, { mode: 0o700 });
    // Writable for the agent, which removes it later.
    chmodSync(target, (mode & 0o7777) | 0o700);
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.from("/"), part])));
}
