/**
 * Stores and compares the files that approvals cover. Each set has a folder:
 *
 *   <id>/files.json   what was looked for, and the state of every file
 *   <id>/copies/*     the files as they were, in the format of an overlay's lower folder, up to a size. The call sees them
 *                     instead of the folder's, so nothing that changes while it runs can slip in.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { mkdir, readdir, readFile, realpath, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { ifMissing } from "../../lib/errors.ts";
import { never } from "../../lib/never.ts";
import type { BoundFiles } from "../../ports/bound-files.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { copyEntry } from "../effects/copy-entry.ts";
import { decodePath, displayPath, type RawPath } from "../effects/raw-path.ts";
import { removeTree } from "../effects/remove-tree.ts";
import type { OpenedByCall, ReadCommandFiles } from "./find-bound.ts";
import { createMergedReader, type FoundContent, listMerged, type MergedFolders } from "./folder-listing.ts";

/** What the files of a call are looked for with. */
export interface BoundQuery {
  /** Commands of a shell. */
  commands: string[];
  names: string[];
}

interface StoredFiles extends BoundQuery {
  digest: string;
  files: Record<RawPath, string>;
}

/** Larger files are compared by size, times and inode, and are not copied. */
const maxHashedBytes = 4 * 1024 * 1024;
const maxCopiedBytes = 64 * 1024 * 1024;
const maxCopiedFiles = 5_000;
const maxNames = 3;
const maxChangedNames = 5;
const maxDifferenceCharacters = 60_000;
/** A call that was approved may run for hours. */
const keptMs = 24 * 60 * 60 * 1000;

export interface BoundStore {
  bind(query: BoundQuery, folders: MergedFolders, conversationId: string): Promise<BoundFiles>;
  changedSince(bound: BoundFiles, folders: MergedFolders): Promise<string[] | undefined>;
  difference(before: BoundFiles, after: BoundFiles): Promise<string | undefined>;
  /** A layer with the files as they were. Undefined if they are too large to be kept. */
  copiesOf(bound: BoundFiles): Promise<string | undefined>;
  /** Removes what no open approval and no running call needs. */
  sweep(ledger: Ledger, now: number): Promise<void>;
}

export function createBoundStore(root: string, readCommand: ReadCommandFiles): BoundStore {
  const folderOf = (id: string) => join(root, id);

  async function stored({ id }: BoundFiles): Promise<StoredFiles | undefined> {
    const text = await readFile(join(folderOf(id), "files.json"), "utf8").catch(ifMissing(undefined));
    return text === undefined ? undefined : (JSON.parse(text) as StoredFiles);
  }

  async function statesNow(
    query: BoundQuery,
    { base: named, layer }: MergedFolders,
    visit: (path: RawPath, found: FoundContent) => Promise<void> = async () => {},
  ) {
    // It may be made later, and what is in it then is new.
    const base = await realpath(named).catch(ifMissing(undefined));
    if (base === undefined) return { files: {}, isWhole: false };
    const folders = { base, layer };
    const listing = await listMerged(folders);
    const reader = createMergedReader(folders);
    try {
      const opened: OpenedByCall = { commands: query.commands.map(readCommand), names: query.names };
      const { findBound } = await import("./find-bound.ts");
      const { paths, isWhole } = await findBound(listing, opened, readCommand, reader, folders.base);
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
    async bind(query, folders, conversationId) {
      const id = randomBytes(12).toString("hex");
      const partial = `${folderOf(id)}.partial`;
      const copies = join(partial, "copies");
      await mkdir(copies, { recursive: true });
      const room = { bytes: maxCopiedBytes, files: maxCopiedFiles };
      const { files, isWhole } = await statesNow(query, folders, async (path, found) => {
        await copyWithin(room, folders, copies, path, found);
      });
      if (room.files < 0) await removeTree(copies);
      const digest = digestOf(files);
      const record: StoredFiles = { ...query, digest, files };
      await writeFileAtomic(join(partial, "files.json"), JSON.stringify(record));
      await rename(partial, folderOf(id));
      const paths = Object.keys(files);
      const names = paths.slice(0, maxNames).map(displayPath);
      const place = { conversationId, folder: folders.base, isCommand: query.commands.length > 0 };
      return { id, ...place, digest, isWhole, names, count: paths.length };
    },
    async changedSince(bound, folders) {
      const before = await stored(bound);
      if (before === undefined) return ["the files"];
      const { files } = await statesNow(before, folders);
      if (digestOf(files) === before.digest) return undefined;
      const paths = [...new Set([...Object.keys(before.files), ...Object.keys(files)])].filter(
        (path) => before.files[path] !== files[path],
      );
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
    async copiesOf({ id }) {
      const copies = join(folderOf(id), "copies");
      return (await stat(copies).catch(() => undefined)) === undefined ? undefined : copies;
    },
    async sweep(ledger, now) {
      const names = await readdir(root).catch(ifMissing([]));
      const old: string[] = [];
      for (const name of names) {
        const found = await stat(folderOf(name)).catch(() => undefined);
        if (found !== undefined && now - found.mtimeMs > keptMs) old.push(name);
      }
      if (old.length === 0) return;
      const waiting = await ledger.list("approval", { states: ["open", "approved"] });
      const needed = new Set(waiting.flatMap(({ body }) => body.bound?.id ?? []));
      for (const name of old) if (!needed.has(name)) await removeTree(folderOf(name));
    },
  };
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
): Promise<void> {
  if (room.files < 0 || (state.type !== "file" && state.type !== "link")) return;
  room.files -= 1;
  if (state.type === "file") room.bytes -= state.bytes;
  // A stamp stands for a large file, or for one that can't be read.
  const isWhole = state.type === "link" || /^[0-9a-f]{64}$/.test(state.hash);
  if (room.bytes < 0) room.files = -1;
  if (room.files < 0 || !isWhole) return;
  const parts = decodePath(path);
  await makeFolders(parts.slice(0, -1), { base, layer }, copies);
  await copyEntry({ folder, name }, Buffer.concat([Buffer.from(`${copies}/`), joined(parts)]));
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
