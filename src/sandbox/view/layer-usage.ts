/** Measures what a view has written. While it runs, counts files only if the used disk space has grown enough to exceed a limit. */
import { readdirSync, statSync } from "node:fs";
import { lstat, statfs } from "node:fs/promises";
import { createPace } from "../effects/pace.ts";
import { entriesOf, pathWithin } from "./entries.ts";

export interface LayerUsage {
  bytes: number;
  files: number;
}

export interface LayerLimits {
  maxLayerBytes: number;
  maxLayerFiles: number;
}

export interface LayerMeter {
  /**
   * Returns the exceeded limit. `full` means that the disk has too little free space. The last check counts in any case:
   * what others delete at the same time hides the growth of the disk's use.
   */
  check(signal: AbortSignal, isLast?: boolean): Promise<"bytes" | "files" | "full" | undefined>;
}

const blockBytes = 512;
/** For all processes together. */
const maxOpenFilesRead = 20_000;

export interface LayerMeterOptions {
  folder: string;
  isEmpty: boolean;
  limits: LayerLimits;
  minFreeBytes: number;
  /** Folders of open files, such as `/proc/7/fd`, because deleted files count while they are open. */
  openFiles(): readonly string[];
}

/** Content that is already in the folder does not count toward the limits. */
export async function createLayerMeter(options: LayerMeterOptions): Promise<LayerMeter> {
  const { folder, minFreeBytes } = options;
  const everything = { maxLayerBytes: Number.POSITIVE_INFINITY, maxLayerFiles: Number.POSITIVE_INFINITY };
  let counted = options.isEmpty ? { bytes: 0, files: 0 } : await countLayer(Buffer.from(folder), everything);
  const limits = {
    maxLayerBytes: options.limits.maxLayerBytes + counted.bytes,
    maxLayerFiles: options.limits.maxLayerFiles + counted.files,
  };
  let at = await diskUse(folder);
  return {
    async check(signal, isLast = false) {
      const now = await diskUse(folder);
      if (now.freeBytes < minFreeBytes) return "full";
      const bytes = now.bytes - at.bytes;
      // Without a count of files (btrfs), assume that each file is as small as one block.
      const files = now.files === undefined || at.files === undefined ? bytes / blockBytes : now.files - at.files;
      const mayBeOver = counted.bytes + bytes > limits.maxLayerBytes || counted.files + files > limits.maxLayerFiles;
      if (!mayBeOver && !isLast) return undefined;
      const layer = await countLayer(Buffer.from(folder), limits, signal);
      const deleted = await deletedOpenBytes(options.openFiles());
      // If there are too many open files to read, count the growth of the disk's used space.
      const written = deleted === undefined ? Math.max(layer.bytes, counted.bytes + bytes) : layer.bytes + deleted;
      counted = { bytes: written, files: layer.files };
      at = now;
      if (counted.bytes > limits.maxLayerBytes) return "bytes";
      return counted.files > limits.maxLayerFiles ? "files" : undefined;
    },
  };
}

interface DiskUse {
  bytes: number;
  freeBytes: number;
  files: number | undefined;
}

async function diskUse(folder: string): Promise<DiskUse> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(folder);
  return { bytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize, files: files === 0 ? undefined : files - ffree };
}

/** Stops at the limits so that even a million files don't take long. */
async function countLayer(folder: Buffer, limits: LayerLimits, signal?: AbortSignal): Promise<LayerUsage> {
  const total = { bytes: 0, files: 0 };
  const isOver = () => total.bytes > limits.maxLayerBytes || total.files > limits.maxLayerFiles;
  const add = async (inner: Buffer): Promise<void> => {
    for await (const entry of entriesOf(inner)) {
      if (isOver() || signal?.aborted === true) return;
      const path = pathWithin(inner, entry.name);
      total.files += 1;
      if (entry.isFile()) total.bytes += (await lstat(path)).blocks * blockBytes;
      if (entry.isDirectory()) await add(path).catch(() => undefined);
    }
  };
  await add(folder).catch(() => undefined);
  return total;
}

async function deletedOpenBytes(folders: readonly string[]): Promise<number | undefined> {
  const pace = createPace();
  let [bytes, files] = [0, 0];
  for (const folder of folders) {
    for (const name of namesIn(folder)) {
      files += 1;
      if (files > maxOpenFilesRead) return undefined;
      if (pace.isDue()) await pace.rest();
      const file = statSync(`${folder}/${name}`, { throwIfNoEntry: false });
      if (file?.isFile() && file.nlink === 0) bytes += file.blocks * blockBytes;
    }
  }
  return bytes;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
