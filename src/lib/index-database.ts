/**
 * SQLite files of search indexes. A damaged file, or one of another version, is deleted and created again. Another
 * program's database is never touched. Without a usable file, the index is kept in memory.
 */
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "./errors.ts";
import { inTransaction, useWriteAheadLog } from "./sqlite.ts";

const busyTimeoutMs = 5_000;
/**
 * SQLite's codes for the generic error, a damaged file and a file of another format. The generic error counts as
 * damage, because our statements are correct. https://sqlite.org/rescode.html
 */
const damageCodes: readonly number[] = [1, 11, 26];

export interface IndexFormat<Statements> {
  /** Names the index in problem messages, such as `the search index`. */
  name: string;
  applicationId: number;
  /** Increase this whenever the schema or the way terms are derived changes. */
  version: number;
  schema: string;
  /** If this throws, the file counts as damaged. */
  prepare(database: DatabaseSync): Statements;
  onProblem(message: string): void;
}

export interface OpenIndexDatabase<Statements> {
  database: DatabaseSync;
  statements: Statements;
}

export function openIndexDatabase<Statements>(
  file: string,
  format: IndexFormat<Statements>,
): OpenIndexDatabase<Statements> {
  const { name, onProblem } = format;
  try {
    return openFile(file, format);
  } catch (thrown) {
    if (isDamage(thrown) || thrown instanceof OtherVersion) {
      onProblem(`${name} ${file} can't be used, so Remora rebuilds it (${messageOf(thrown)})`);
      try {
        removeDatabase(file);
        return openFile(file, format);
      } catch (again) {
        return inMemory(again);
      }
    }
    return inMemory(thrown);
  }

  function inMemory(thrown: unknown): OpenIndexDatabase<Statements> {
    onProblem(`${name} ${file} can't be opened (${messageOf(thrown)}), so Remora keeps it in memory`);
    return openFile(":memory:", format);
  }
}

export function removeDatabase(file: string): void {
  if (file === ":memory:") return;
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(file + ending, { force: true });
}

export function isDamage(thrown: unknown): boolean {
  const code = thrown instanceof Error && "errcode" in thrown ? thrown.errcode : undefined;
  return typeof code === "number" && damageCodes.includes(code & 0xff);
}

export function pragma(database: DatabaseSync, name: string): number {
  const value = database.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === "number" ? value : 0;
}

class OtherVersion extends Error {}

function openFile<Statements>(path: string, format: IndexFormat<Statements>): OpenIndexDatabase<Statements> {
  const { applicationId, version, schema } = format;
  if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    useWriteAheadLog(database);
    database.exec("PRAGMA secure_delete = ON");
    checkOwner(database, format);
    inTransaction(database, () => {
      // Check again inside the transaction: another process may have created the schema.
      if (pragma(database, "user_version") !== 0) return;
      database.exec(`${schema}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version};`);
    });
    return { database, statements: format.prepare(database) };
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

function checkOwner(database: DatabaseSync, { applicationId, version }: IndexFormat<unknown>): void {
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get() === undefined;
  if (isEmpty) return;
  if (pragma(database, "application_id") !== applicationId) throw new Error("it is a database of another program");
  const found = pragma(database, "user_version");
  if (found !== version) throw new OtherVersion(`it has version ${found}, this program uses ${version}`);
}
