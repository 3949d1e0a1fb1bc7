/** Finds what keeping a draft would change. Walks only the layer and the base folders that it deletes or replaces. */
import { createHash } from "node:crypto";
import { codeOf } from "../../lib/errors.ts";
import {
  absent,
  type EntryStamp,
  type EntryState,
  type FoundEntry,
  isSameState,
  isWhiteout,
  readEntry,
} from "./entry-state.ts";
import type { FileContent } from "./file-content.ts";
import { createWalkCounter, type WalkLimits } from "./limits.ts";
import { type OpenFolder, openChild, openRoot } from "./open-folder.ts";
import { createPace } from "./pace.ts";
import { joinPath, type RawPath } from "./raw-path.ts";

export interface DraftFolders {
  /** The real folder, as an absolute path without links. */
  base: string;
  layer: string;
}

export interface LayerChange {
  path: RawPath;
  from: EntryState;
  /** The state after keeping. Equals `from` if only set-id bits differ, because they are never kept. */
  to: EntryState;
  droppedBits: number;
  stamp: EntryStamp | undefined;
  owner: { uid: number; gid: number };
}

export interface LayerChanges {
  /** Sorted by bytes. A folder comes before its contents. */
  changes: LayerChange[];
  /** SHA-256 in hex over every change: paths, types, modes and contents, in base and in the layer. */
  hash: string;
}

export type VisitChange = (
  change: LayerChange,
  contents: { from: FileContent | undefined; to: FileContent | undefined },
) => Promise<void>;

const specialBits = 0o6000;

/** Must be called inside `withinLimits`. */
export async function readLayerChanges(
  { base, layer }: DraftFolders,
  limits: WalkLimits,
  signal: AbortSignal,
  visit?: VisitChange,
): Promise<LayerChanges> {
  const pace = createPace(signal);
  const counter = createWalkCounter(limits);
  const changes: LayerChange[] = [];
  const digest = createHash("sha256").update("remora effects 1\n");

  async function add(path: RawPath, from: FoundEntry, to: FoundEntry | undefined) {
    const kept = to === undefined ? { state: absent, droppedBits: 0 } : keptState(from.state, to.state);
    const { state, droppedBits } = kept;
    if (droppedBits === 0 && isSameState(from.state, state)) return;
    const change = { path, from: from.state, to: state, droppedBits, stamp: from.stamp, owner: from.owner };
    changes.push(change);
    digest.update(`${JSON.stringify([path, from.state, state, droppedBits])}\n`);
    await visit?.(change, { from: from.content, to: to?.content });
  }

  async function walk(layerFolder: OpenFolder, baseFolder: OpenFolder | undefined, path: RawPath, depth: number) {
    counter.checkDepth(depth);
    for (const name of layerFolder.names()) {
      counter.count();
      if (pace.isDue()) await pace.rest();
      const stat = layerFolder.stat(name);
      if (stat === undefined) continue;
      const child = joinPath(path, name);
      if (isWhiteout(stat)) {
        if (baseFolder !== undefined) await remove(baseFolder, name, child, depth);
        continue;
      }
      if (stat.isFile()) counter.countBytes(stat.size);
      const from = baseFolder === undefined ? nothing : await readEntry(baseFolder, name, pace);
      await add(child, from, await readEntry(layerFolder, name, pace));
      if (stat.isDirectory()) await walkFolder(layerFolder, baseFolder, name, child, depth);
      else if (from.state.type === "folder" && baseFolder) await removeInside(baseFolder, name, child, depth);
    }
  }

  async function walkFolder(
    layerFolder: OpenFolder,
    baseFolder: OpenFolder | undefined,
    name: Buffer,
    path: RawPath,
    depth: number,
  ) {
    const inner = openChild(layerFolder, name);
    const innerBase = baseFolder && openChild(baseFolder, name);
    try {
      if (inner !== undefined) await walk(inner, innerBase, path, depth + 1);
    } finally {
      innerBase?.close();
      inner?.close();
    }
  }

  async function remove(baseFolder: OpenFolder, name: Buffer, path: RawPath, depth: number) {
    counter.count();
    if (pace.isDue()) await pace.rest();
    const from = await readEntry(baseFolder, name, pace);
    await add(path, from, undefined);
    if (from.state.type === "folder") await removeInside(baseFolder, name, path, depth);
  }

  async function removeInside(parent: OpenFolder, name: Buffer, path: RawPath, depth: number) {
    counter.checkDepth(depth + 1);
    const folder = tryOpen(parent, name);
    try {
      for (const inner of folder?.names() ?? []) {
        if (folder) await remove(folder, inner, joinPath(path, inner), depth + 1);
      }
    } finally {
      folder?.close();
    }
  }

  const layerRoot = openRoot(layer, "peek");
  try {
    const baseRoot = openRoot(base, "peek");
    try {
      await walk(layerRoot, baseRoot, "", 0);
    } finally {
      baseRoot.close();
    }
  } finally {
    layerRoot.close();
  }
  return { changes, hash: digest.digest("hex") };
}

const nothing: FoundEntry = { state: absent, stamp: undefined, owner: { uid: -1, gid: -1 }, content: undefined };

/** Must never add set-id bits. A changed file loses its set-id bits, as after a write. */
function keptState(from: EntryState, to: EntryState): { state: EntryState; droppedBits: number } {
  if ((to.type !== "file" && to.type !== "folder") || isSameState(from, to)) return { state: to, droppedBits: 0 };
  const allowed = to.type === "folder" && from.type === "folder" ? from.mode & specialBits : 0;
  const mode = to.mode & ~(specialBits & ~allowed);
  return { state: { ...to, mode }, droppedBits: to.mode & ~mode };
}

/** A folder that denies reading counts as empty. If it is not empty, deleting it fails later. */
function tryOpen(parent: OpenFolder, name: Buffer): OpenFolder | undefined {
  try {
    return openChild(parent, name);
  } catch (thrown) {
    if (codeOf(thrown) === "EACCES") return undefined;
    throw thrown;
  }
}
