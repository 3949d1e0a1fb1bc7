/**
 * Copies the working folder and applies its layers to the copy, for machines without overlayfs. In a layer, a device
 * 0:0 deletes the entry below. A folder merges with the folder below. Anything else replaces the entry below.
 */
import { execFile } from "node:child_process";
import { lstat, mkdir, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { RemoraError } from "../../lib/errors.ts";
import { entriesOf, pathWithin } from "./entries.ts";

export interface CopyLimits {
  maxCopiedFiles: number;
  maxCopiedBytes: number;
}

const run = promisify(execFile);

/** Measures the folder without its layers. Ignores errors, because the copy will report them. */
export async function isCopyable(folder: string, limits: CopyLimits, signal: AbortSignal): Promise<boolean> {
  const total = { files: 0, bytes: 0 };
  await measure(Buffer.from(folder), total, limits, signal).catch(() => undefined);
  return !isOver(total, limits);
}

/** `layers` are topmost first. Rejects with code `sandbox.folder-too-large`. */
export async function copyFolder(
  source: { folder: string; layers: readonly string[] },
  target: string,
  limits: CopyLimits,
  signal: AbortSignal,
): Promise<void> {
  const total = { files: 0, bytes: 0 };
  for (const folder of [source.folder, ...source.layers]) {
    await measure(Buffer.from(folder), total, limits, signal);
    if (isOver(total, limits)) throw tooLarge(source.folder, limits);
  }
  await mkdir(target);
  await copyAll(source.folder, target, signal);
  for (const layer of source.layers.toReversed()) await applyLayer(layer, target, signal);
}

function isOver(total: { files: number; bytes: number }, limits: CopyLimits): boolean {
  return total.files > limits.maxCopiedFiles || total.bytes > limits.maxCopiedBytes;
}

async function measure(
  folder: Buffer,
  total: { files: number; bytes: number },
  limits: CopyLimits,
  signal: AbortSignal,
) {
  for await (const entry of entriesOf(folder)) {
    signal.throwIfAborted();
    total.files += 1;
    if (entry.isFile()) total.bytes += (await lstat(pathWithin(folder, entry.name))).size;
    if (isOver(total, limits)) return;
    if (entry.isDirectory()) await measure(pathWithin(folder, entry.name), total, limits, signal);
  }
}

function tooLarge(folder: string, { maxCopiedFiles, maxCopiedBytes }: CopyLimits): RemoraError {
  const size = `${maxCopiedFiles} files or ${Math.round(maxCopiedBytes / 1024 ** 2)} MB`;
  return new RemoraError({
    code: "sandbox.folder-too-large",
    place: "sandbox",
    message: `${folder} is too large to copy (more than ${size}), and this machine can't mount an overlay over it: use a smaller folder, or a kernel with overlayfs`,
  });
}

/** Uses `cp`, because Node can't copy holes, extended attributes or the times of links. */
async function copyAll(folder: string, target: string, signal: AbortSignal): Promise<void> {
  await run("cp", ["-a", "--reflink=auto", "--", `${folder}/.`, target], { signal });
}

async function applyLayer(layer: string, target: string, signal: AbortSignal): Promise<void> {
  const deletions = await clearReplaced(Buffer.from(layer), Buffer.from(target), signal);
  await copyAll(layer, target, signal);
  for (const deletion of deletions) await rm(deletion, { force: true });
}

/** Removes what the layer deletes or replaces. Returns the paths where the copy will put the layer's deletions. */
async function clearReplaced(layer: Buffer, target: Buffer, signal: AbortSignal): Promise<Buffer[]> {
  const deletions: Buffer[] = [];
  for await (const entry of entriesOf(layer)) {
    signal.throwIfAborted();
    const [from, to] = [pathWithin(layer, entry.name), pathWithin(target, entry.name)];
    const below = await lstat(to).catch(() => undefined);
    const merges = entry.isDirectory() && below?.isDirectory() === true;
    if (below !== undefined && !merges) await rm(to, { recursive: true });
    if (entry.isCharacterDevice()) deletions.push(to);
    if (merges) deletions.push(...(await clearReplaced(from, to, signal)));
  }
  return deletions;
}
