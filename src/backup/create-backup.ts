/**
 * Creates a backup: one `.tar.gz` with the databases, the data folder, the workspace, the configuration and, on request,
 * the secrets. Remora can be running. In this order:
 *
 *   1. the databases, each as one snapshot (SQLite's online backup), checked
 *   2. what Redis holds, if Remora uses it
 *   3. the files of the data folder, with the ends of the audit's chains
 *   4. the files of the workspace, the audit log newest first
 *
 * So the ledger is never newer than the files, as after a crash, and the audit never lacks a line that a copied file
 * names. The archive gets its name only when it is complete and on disk.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { isProcessAlive } from "../lib/is-process-alive.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { copyDatabase, isDatabase } from "./databases.ts";
import { type FoundEntry, findFiles } from "./find-files.ts";
import { excludedFromData, excludedFromWorkspace, isAuditFile, isHead } from "./left-out.ts";
import {
  type BackupHeader,
  type BackupManifest,
  formatVersion,
  headerName,
  type LeftOut,
  manifestName,
  type Part,
} from "./manifest.ts";
import { type TarEntry, writeTar } from "./tar.ts";

export interface BackupOptions {
  /** Must not exist. */
  file: string;
  version: string;
  data: string;
  workspace: string;
  /** The text of the configuration, without secrets unless `hasSecrets`; undefined without a file. */
  config: { name: string; text: string } | undefined;
  hasSecrets: boolean;
  /** By name: the contents of `.env` and of secret files. */
  secrets: { name: string; text: string }[];
  leftOut: LeftOut[];
  /** Lines by file name, such as `ledger.jsonl`. Undefined without Redis. */
  redis: (() => AsyncIterable<{ name: string; lines: string[] }>) | undefined;
}

export interface BackupSummary {
  file: string;
  bytes: number;
  manifest: BackupManifest;
}

/** Larger files are copied before they are added, because they could shrink while they are read. */
const maxFileInMemoryBytes = 16 * 1024 * 1024;

export async function createBackup(options: BackupOptions): Promise<BackupSummary> {
  const { file } = options;
  await removeLeftovers(file);
  const temporary = `${file}.partial-${process.pid}`;
  try {
    await mkdir(temporary, { mode: 0o700 });
    const manifest: BackupManifest = { files: [], schemas: {}, leftOut: options.leftOut };
    const archive = join(temporary, "archive");
    const entries = entriesOf(options, temporary, manifest);
    await pipeline(
      Readable.from(writeTar(entries)),
      createGzip(),
      createWriteStream(archive, { mode: 0o600, flush: true }),
    );
    const { size } = await stat(archive);
    await rename(archive, file);
    await syncFolder(dirname(file));
    return { file, bytes: size, manifest };
  } catch (thrown) {
    throw asBackupError(thrown, file);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function* entriesOf(
  options: BackupOptions,
  temporary: string,
  manifest: BackupManifest,
): AsyncGenerator<TarEntry> {
  const { data, workspace, version, hasSecrets, redis, config } = options;
  const now = Date.now();
  const header: BackupHeader = {
    ...{ format: formatVersion, remora: version, createdAt: new Date(now).toISOString(), hasSecrets },
    storage: redis === undefined ? "sqlite" : "redis",
  };
  const text = (name: string, content: string) => memoryEntry({ name, mode: 0o600, mtimeMs: now }, content);
  const listed = (name: string, content: string) => hashed(text(name, content), manifest);
  yield text(headerName, `${JSON.stringify(header, null, 1)}\n`);

  const inData = await found("data", data, excludedFromData(hasSecrets), manifest);
  const databases: FoundEntry[] = [];
  for (const entry of inData) {
    if (entry.type !== "file" || !(await isDatabase(join(data, entry.path)))) continue;
    databases.push(entry);
    const copy = join(temporary, randomBytes(8).toString("hex"));
    manifest.schemas[`data/${entry.path}`] = await copyDatabase(join(data, entry.path), copy);
    yield hashed(await fileEntry("data", { ...entry, size: (await stat(copy)).size }, copy), manifest);
    await rm(copy);
  }
  for await (const { name, lines } of redis?.() ?? []) yield listed(`redis/${name}`, lines.join(""));
  const others = inData.filter((entry) => !databases.includes(entry));
  yield* copied("data", data, others.toSorted(byTurn(isHead)), temporary, manifest);
  const inWorkspace = await found("workspace", workspace, excludedFromWorkspace, manifest);
  yield* copied("workspace", workspace, inWorkspace.toSorted(byTurn(isAuditFile)), temporary, manifest);
  if (config !== undefined) yield listed(`config/${config.name}`, config.text);
  for (const { name, text: secret } of options.secrets) yield listed(`secrets/${name}`, secret);
  yield text(manifestName, `${JSON.stringify(manifest)}\n`);
}

async function found(
  part: Part,
  root: string,
  exclude: (path: string) => string | undefined,
  manifest: BackupManifest,
) {
  const leftOut: LeftOut[] = [];
  const entries: FoundEntry[] = [];
  for await (const entry of findFiles(root, exclude, leftOut)) entries.push(entry);
  manifest.leftOut.push(...leftOut.map(({ path, reason }) => ({ path: `${part}/${path}`, reason })));
  return entries;
}

/** Folders keep their order and come first; of the files, those for which `isFirst` holds, newest first. */
function byTurn(isFirst: (path: string) => boolean): (one: FoundEntry, other: FoundEntry) => number {
  const turn = (entry: FoundEntry) => (entry.type === "folder" ? 0 : isFirst(entry.path) ? 1 : 2);
  const birth = (entry: FoundEntry) => (entry.type === "file" ? entry.birthtimeMs : 0);
  return (one, other) => turn(one) - turn(other) || (turn(one) === 1 ? birth(other) - birth(one) : 0);
}

async function* copied(
  part: Part,
  root: string,
  entries: FoundEntry[],
  temporary: string,
  manifest: BackupManifest,
): AsyncGenerator<TarEntry> {
  for (const entry of entries) {
    const { mode, mtimeMs } = entry;
    const common = { name: `${part}/${entry.path}`, mode, mtimeMs };
    if (entry.type === "link") yield { ...common, type: "link", target: entry.target };
    else if (entry.type !== "file") yield { ...common, type: entry.type };
    else yield* await copiedFile(part, root, entry, temporary, manifest);
  }
}

async function copiedFile(
  part: Part,
  root: string,
  entry: FoundEntry & { type: "file" },
  temporary: string,
  manifest: BackupManifest,
): Promise<TarEntry[]> {
  const path = join(root, entry.path);
  try {
    if (entry.size <= maxFileInMemoryBytes) {
      const bytes = wholeLines(part, entry.path, await readFile(path));
      return [hashed(memoryEntry({ ...entry, name: `${part}/${entry.path}` }, bytes), manifest)];
    }
    const copy = join(temporary, "large");
    await copyFile(path, copy);
    const size = isAuditFile(entry.path) && part === "workspace" ? await endOfLines(copy) : (await stat(copy)).size;
    return [hashed(await fileEntry(part, { ...entry, size }, copy), manifest)];
  } catch (thrown) {
    // It has been deleted since its folder was read.
    if (codeOf(thrown) === "ENOENT") return [];
    throw thrown;
  }
}

/** The last line of the audit log may still be being written. */
function wholeLines(part: Part, path: string, bytes: Buffer): Buffer {
  return part === "workspace" && isAuditFile(path) ? bytes.subarray(0, bytes.lastIndexOf(10) + 1) : bytes;
}

async function endOfLines(path: string): Promise<number> {
  const { size } = await stat(path);
  const from = Math.max(0, size - maxFileInMemoryBytes);
  let end = from;
  let at = from;
  for await (const chunk of createReadStream(path, { start: from }) as AsyncIterable<Buffer>) {
    const last = chunk.lastIndexOf(10);
    if (last !== -1) end = at + last + 1;
    at += chunk.length;
  }
  return end;
}

type Named = Pick<TarEntry, "name" | "mode" | "mtimeMs">;
type FileEntry = TarEntry & { type: "file" };

function memoryEntry({ name, mode, mtimeMs }: Named, content: string | Buffer): FileEntry {
  const bytes = Buffer.from(content as string);
  const once = async function* () {
    yield bytes;
  };
  return { name, mode, mtimeMs, type: "file", size: bytes.length, content: once() };
}

async function fileEntry(part: Part, entry: FoundEntry & { type: "file" }, copy: string): Promise<FileEntry> {
  const { path, mode, mtimeMs, size } = entry;
  const content = size === 0 ? Readable.from([]) : createReadStream(copy, { end: size - 1 });
  return { name: `${part}/${path}`, mode, mtimeMs, type: "file", size, content };
}

/** Adds the file to the manifest when its content has been read. */
function hashed(entry: FileEntry, manifest: BackupManifest): FileEntry {
  const content = async function* () {
    const hash = createHash("sha256");
    for await (const chunk of entry.content) {
      hash.update(chunk);
      yield chunk;
    }
    manifest.files.push({ path: entry.name, size: entry.size, sha256: hash.digest("hex") });
  };
  return { ...entry, content: content() };
}

/** Removes what backups to the same file left behind whose processes were killed. */
async function removeLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.partial-`;
  for (const name of await readdir(dirname(file)).catch(() => [])) {
    const pid = Number(name.slice(prefix.length));
    if (!name.startsWith(prefix) || !Number.isInteger(pid) || (pid !== process.pid && isProcessAlive(pid))) continue;
    await rm(join(dirname(file), name), { recursive: true, force: true });
  }
}

function asBackupError(thrown: unknown, file: string): unknown {
  if (thrown instanceof RemoraError) return thrown;
  const full = ["ENOSPC", "EDQUOT"].includes(codeOf(thrown) ?? "");
  const what = full
    ? "the disk is full, so there is no backup. Nothing was left behind. Free some space, or name a file on another disk"
    : `there is no backup, because it failed: ${messageOf(thrown)}. Nothing was left behind`;
  return new RemoraError({ code: "backup.failed", place: file, message: what, cause: thrown });
}
