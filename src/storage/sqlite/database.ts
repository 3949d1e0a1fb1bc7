/**
 * Opens a SQLite file that several processes may share, in WAL mode so that readers don't wait for the writer. Checks
 * that the file is Remora's and not newer than this program. Migrates version by version, each in its own transaction.
 * Must never delete or repair a file: the error for an unusable file says what to do.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeOf, messageOf, RemoraError } from "../../lib/errors.ts";
import { isDiskFull } from "../../lib/shortage.ts";
import { inTransaction, useWriteAheadLog } from "../../lib/sqlite.ts";
import { isTransientCode } from "../../lib/transient-errors.ts";

/** Primary result codes: the lower 8 bits of the extended ones. https://sqlite.org/rescode.html */
const sqliteCode = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notDatabase: 26,
};

const busyTimeoutMs = 5_000;

export interface DatabaseOptions {
  path: string;
  name: string;
  /** SQLite's application id, which distinguishes our file from others. */
  applicationId: number;
  /** SQL by version; the first one creates version 1. Never change a released migration; only add new ones. */
  migrations: readonly string[];
}

export function openDatabase(options: DatabaseOptions): DatabaseSync {
  const place = placeOf(options);
  let database: DatabaseSync | undefined;
  try {
    if (options.path !== ":memory:") mkdirSync(dirname(options.path), { recursive: true });
    database = new DatabaseSync(options.path, { timeout: busyTimeoutMs });
    useWriteAheadLog(database);
    database.exec("PRAGMA journal_size_limit = 16777216");
    migrate(database, options);
    return database;
  } catch (thrown) {
    database?.close();
    throw asStorageError(thrown, place);
  }
}

/** Returns the start of every error message, such as `ledger data/ledger.db`. */
export function placeOf({ name, path }: Pick<DatabaseOptions, "name" | "path">): string {
  return `${name} ${path}`;
}

export function asStorageError(thrown: unknown, place: string): unknown {
  if (thrown instanceof RemoraError) return thrown;
  const code = resultCodeOf(thrown);
  if (code === undefined) return isFileError(thrown) ? fileFailure(thrown, place) : thrown;
  switch (code) {
    case sqliteCode.corrupt:
    case sqliteCode.notDatabase:
      return failure("storage.corrupt", corrupt, thrown, place);
    case sqliteCode.busy:
    case sqliteCode.locked:
      return failure("storage.busy", busy, thrown, place, true);
    case sqliteCode.full:
      return failure("storage.full", full, thrown, place, true);
    case sqliteCode.ioError:
    case sqliteCode.cantOpen:
      // Also for want of file descriptors, or of memory for the index of the write-ahead log.
      return failure("storage.unreachable", unreachable, thrown, place, true);
    case sqliteCode.readonly:
      return failure("storage.unreachable", unreachable, thrown, place);
    default:
      return failure("storage.failed", "failed. This is a bug in Remora or in the file", thrown, place);
  }
}

const corrupt =
  "is damaged or is not a SQLite database. Nothing was changed. Go back to a backup: npm run -s remora -- restore FILE " +
  "--replace. Without a backup, stop Remora and move the file away, with its -wal and -shm files: what it holds is lost";
const busy = `has been locked by another process for more than ${busyTimeoutMs / 1000} s. Find out what else has it open, and try again`;
const full = "can't be written because the disk is full. Free some space. Nothing was written in part";
const unreachable = "can't be opened or written. Check that the folder exists and that this user may write to it";

function failure(code: string, what: string, cause: unknown, place: string, isRetryable = false): RemoraError {
  return new RemoraError({ code, place, message: `${what} (${messageOf(cause)}).`, isRetryable, cause });
}

function fileFailure(thrown: unknown, place: string): RemoraError {
  if (isDiskFull(thrown)) return failure("storage.full", full, thrown, place, true);
  return failure("storage.unreachable", unreachable, thrown, place, isTransientCode(codeOf(thrown)));
}

function resultCodeOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("errcode" in thrown) || typeof thrown.errcode !== "number") return undefined;
  return thrown.errcode & 0xff;
}

function isFileError(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown;
}

function migrate(database: DatabaseSync, options: DatabaseOptions): void {
  if (versionOf(database, options) === options.migrations.length) return;
  inTransaction(database, () => {
    // Read the version again: another process may have migrated while this one waited for the lock.
    for (const sql of options.migrations.slice(versionOf(database, options))) database.exec(sql);
    database.exec(`PRAGMA application_id = ${options.applicationId}`);
    database.exec(`PRAGMA user_version = ${options.migrations.length}`);
  });
}

function versionOf(database: DatabaseSync, options: DatabaseOptions): number {
  const version = pragma(database, "user_version");
  const known = options.migrations.length;
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get() === undefined;
  if (!isEmpty && pragma(database, "application_id") !== options.applicationId) {
    throw new RemoraError({
      code: "storage.foreign",
      place: placeOf(options),
      message: `is another program's database. Nothing was changed. Give Remora another path for its ${options.name}.`,
    });
  }
  if (version > known) {
    throw new RemoraError({
      code: "storage.newer",
      place: placeOf(options),
      message: `has schema version ${version}, but this Remora knows only versions up to ${known}. Nothing was changed. Start the newer Remora that wrote it, or restore a backup from before the update.`,
    });
  }
  return version;
}

function pragma(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get();
  const value = row?.[name];
  return typeof value === "number" ? value : 0;
}
