/**
 * Unpacks a backup into folders that nothing uses yet, and checks it: who wrote it, its completeness, the size and hash
 * of every file, and every database. Rejects at the first problem. Links are made last, so that no file is written
 * through one.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { chmod, mkdir, symlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGunzip } from "node:zlib";
import type { z } from "zod";
import { compareVersions } from "../lib/compare-versions.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { checkDatabase } from "./databases.ts";
import { isInnerLink } from "./find-files.ts";
import {
  type BackupHeader,
  type BackupManifest,
  formatVersion,
  headerName,
  headerSchema,
  manifestName,
  manifestSchema,
  type Part,
  parts,
} from "./manifest.ts";
import { DamagedArchive, readTar, type TarEntry } from "./tar.ts";

export interface Unpacked {
  header: BackupHeader;
  manifest: BackupManifest;
}

type Files = BackupManifest["files"];

const maxOwnEntryBytes = 256 * 1024 * 1024;

/** Each part of the archive goes to its folder, which is created. Without `places`, nothing is written. */
export async function unpackBackup(
  file: string,
  version: string,
  places: Record<Part, string> | undefined,
): Promise<Unpacked> {
  checkExists(file);
  try {
    const gunzip = createGunzip();
    const source = createReadStream(file);
    source.once("error", (error) => gunzip.destroy(error));
    const entries = readTar(source.pipe(gunzip));
    try {
      return await unpackEntries(entries, version, places);
    } finally {
      source.destroy();
      gunzip.destroy();
    }
  } catch (thrown) {
    throw asRestoreError(thrown, file);
  }
}

/** Before anything else, because the path may be mistyped. */
export function checkExists(file: string): void {
  if (!existsSync(file)) throw failure(file, "missing", "does not exist.");
}

async function unpackEntries(
  entries: AsyncGenerator<TarEntry>,
  version: string,
  places: Record<Part, string> | undefined,
): Promise<Unpacked> {
  const first = await entries.next();
  const header = await ownEntry(first.value, headerName, headerSchema);
  checkVersion(header, version);
  const files: Files = [];
  const [links, folders]: [(() => Promise<void>)[], (() => Promise<void>)[]] = [[], []];
  const linked: string[] = [];
  for await (const entry of entries) {
    if (entry.name === manifestName) {
      const manifest = await ownEntry(entry, manifestName, manifestSchema);
      compare(files, manifest.files);
      checkLinks(linked);
      for (const link of links) await link();
      for (const folder of folders.toReversed()) await folder();
      if (places !== undefined) checkDatabases(manifest, places);
      return { header, manifest };
    }
    const path = placeOf(entry.name, places);
    if (entry.type === "file") files.push(await unpackFile(entry, path));
    else if (entry.type === "link") {
      if (!isInnerLink(entry.name, entry.target) || !stays(entry.name, entry.target))
        throw new DamagedArchive(`${entry.name} is a link to a place outside`);
      linked.push(entry.name);
      if (path !== undefined) links.push(() => symlink(entry.target, path));
    } else if (path !== undefined) {
      if (entry.type === "whiteout") await promisify(execFile)("mknod", [path, "c", "0", "0"]);
      else {
        await mkdir(path, { recursive: true, mode: 0o700 });
        folders.push(() => setAttributes(path, entry));
      }
    }
  }
  throw new DamagedArchive("it ends too early");
}

/** A link in `data/…` must not lead to the other top folders, which are elsewhere after the restore. */
function stays(name: string, target: string): boolean {
  const [part = "", ...path] = name.split("/");
  return path.length > 0 && part !== "" && isInnerLink(path.join("/"), target);
}

/** A link below another link would be made where that one leads, and could lead out from there. */
function checkLinks(linked: readonly string[]): void {
  const names = new Set(linked);
  for (const name of linked) {
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1))
      if (names.has(name.slice(0, at))) throw new DamagedArchive(`${name} is below a link`);
  }
}

function placeOf(name: string, places: Record<Part, string> | undefined): string | undefined {
  const [top = "", ...path] = name.split("/");
  const part = parts.find((known) => known === top);
  if (part === undefined || path.length === 0)
    throw new DamagedArchive(`${JSON.stringify(name)} is not a name that a backup has`);
  return places && join(places[part], ...path);
}

async function unpackFile(entry: TarEntry & { type: "file" }, path: string | undefined): Promise<Files[number]> {
  const hash = createHash("sha256");
  if (path === undefined) {
    for await (const chunk of entry.content) hash.update(chunk);
  } else {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const target = createWriteStream(path, { flags: "wx", mode: 0o600 });
    const hashing = new Transform({
      transform(chunk, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    await pipeline(entry.content, hashing, target);
    await setAttributes(path, entry);
  }
  return { path: entry.name, size: entry.size, sha256: hash.digest("hex") };
}

async function setAttributes(path: string, { mode, mtimeMs }: TarEntry): Promise<void> {
  await chmod(path, mode);
  await utimes(path, mtimeMs / 1000, mtimeMs / 1000);
}

async function ownEntry<T>(entry: TarEntry | undefined, name: string, schema: z.ZodType<T>): Promise<T> {
  if (entry?.type !== "file" || entry.name !== name || entry.size > maxOwnEntryBytes) throw new NoBackup();
  const chunks: Uint8Array[] = [];
  for await (const chunk of entry.content) chunks.push(chunk);
  try {
    return schema.parse(JSON.parse(Buffer.concat(chunks).toString()));
  } catch {
    if (name === headerName) throw new NoBackup();
    throw new DamagedArchive("its list of files can't be read");
  }
}

function compare(found: Files, named: Files): void {
  const byPath = new Map(named.map((file) => [file.path, file]));
  for (const { path, size, sha256 } of found) {
    const expected = byPath.get(path);
    if (expected?.size !== size || expected.sha256 !== sha256)
      throw new DamagedArchive(`${path} is not what was backed up`);
    byPath.delete(path);
  }
  const [missing] = byPath.keys();
  if (missing !== undefined) throw new DamagedArchive(`${missing} is missing`);
}

function checkDatabases({ files, schemas }: BackupManifest, places: Record<Part, string>): void {
  const unpacked = new Set(files.map(({ path }) => path));
  for (const name of Object.keys(schemas)) {
    if (!unpacked.has(name)) throw new DamagedArchive(`${name} is missing`);
    checkDatabase(placeOf(name, places) ?? "");
  }
}

class NoBackup extends Error {}
class OtherVersion extends Error {}

function checkVersion({ format, remora }: BackupHeader, version: string): void {
  if (format > formatVersion || compareVersions(remora, version) > 0)
    throw new OtherVersion(`Remora ${remora} wrote it, and this is ${version}. Upgrade Remora first`);
}

function asRestoreError(thrown: unknown, file: string): unknown {
  const failed = (code: string, message: string) => failure(file, code, message, thrown);
  const code = codeOf(thrown) ?? "";
  if (thrown instanceof RemoraError && thrown.code !== "backup.damaged-database") return thrown;
  if (thrown instanceof OtherVersion) return failed("version", `${thrown.message}.`);
  if (thrown instanceof NoBackup || code === "Z_DATA_ERROR")
    return failed("no-backup", "is not a backup that `remora backup` wrote.");
  if (thrown instanceof DamagedArchive || thrown instanceof RemoraError || code.startsWith("Z_"))
    return failed("damaged", `is damaged: ${messageOf(thrown)}. Use another backup.`);
  if (code === "ENOSPC" || code === "EDQUOT")
    return failed("full", "can't be unpacked because the disk is full. Free some space.");
  return failed("failed", `can't be unpacked: ${messageOf(thrown)}.`);
}

function failure(file: string, code: string, message: string, cause?: unknown): RemoraError {
  return new RemoraError({ code: `restore.${code}`, place: file, message: `${message} Nothing was changed.`, cause });
}
