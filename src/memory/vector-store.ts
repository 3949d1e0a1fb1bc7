/**
 * Stores the vectors of passages in a SQLite file beside the index. Each vector costs money or time, so the file
 * survives a rebuild of the index. A vector belongs to a model and a text (by hash) so that each text is embedded only
 * once, in whichever passages, scopes and processes it occurs. Contains no text.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../lib/errors.ts";
import { isDamage, pragma, removeDatabase } from "../lib/index-database.ts";
import { inTransaction, useWriteAheadLog } from "../lib/sqlite.ts";
import { quantize, signsOf } from "./vectors.ts";

const applicationId = 0x524d5256;
const storeVersion = 1;
const busyTimeoutMs = 5_000;

const schema = `
  CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER);
  CREATE TABLE signs (model INTEGER, key TEXT, signs BLOB NOT NULL, PRIMARY KEY (model, key)) WITHOUT ROWID;
  CREATE TABLE codes (model INTEGER, key TEXT, codes BLOB NOT NULL, PRIMARY KEY (model, key));
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE lease (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT NOT NULL, until INTEGER NOT NULL);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${storeVersion};
`;

export interface StoredVector {
  key: string;
  vector: Float32Array;
}

export interface VectorStore {
  /** Undefined until the model's first vector is stored. */
  dimensions(): number | undefined;
  missing(keys: readonly string[]): Set<string>;
  /** Returns false, and stores nothing, if a vector's length differs from that of the model's other vectors. */
  put(vectors: readonly StoredVector[]): boolean;
  signs(keys: readonly string[]): Map<string, Int32Array>;
  codes(keys: readonly string[]): Map<string, Int8Array>;
  /** The keys of all models' vectors. */
  keys(): string[];
  remove(keys: readonly string[]): void;
  removeOtherModels(): void;
  /** Changes whenever another process writes. */
  version(): number;
  /**
   * Returns true if this owner may embed until `until`. Only one process at a time may, so no text is embedded twice.
   */
  lease(owner: string, now: number, until: number): boolean;
  release(owner: string): void;
  fact(name: string): string | undefined;
  setFact(name: string, value: string | undefined): void;
  /** Overwrites what was removed. */
  purge(): void;
  close(): void;
}

/** Returns undefined if the file can't be used. Deletes a damaged file, because its vectors can be computed again. */
export function openVectorStore(
  file: string,
  model: string,
  onProblem: (message: string) => void,
): VectorStore | undefined {
  for (const isLast of [false, true]) {
    try {
      return createStore(openFile(file), model);
    } catch (thrown) {
      if (!isLast && isDamage(thrown)) {
        onProblem(`the file of vectors ${file} is damaged, so Remora makes it again (${messageOf(thrown)})`);
        removeDatabase(file);
        continue;
      }
      onProblem(`the file of vectors ${file} can't be used, so search goes by words only (${messageOf(thrown)})`);
      return undefined;
    }
  }
  return undefined;
}

function openFile(file: string): DatabaseSync {
  if (file !== ":memory:") mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    useWriteAheadLog(database);
    database.exec("PRAGMA secure_delete = ON");
    inTransaction(database, () => {
      const isEmpty = database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get() === undefined;
      if (isEmpty) database.exec(schema);
      if (pragma(database, "application_id") !== applicationId) throw new Error("it is a database of another program");
      const version = pragma(database, "user_version");
      if (version !== storeVersion) throw new Error(`it has version ${version}, this program uses ${storeVersion}`);
    });
    return database;
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

function createStore(database: DatabaseSync, name: string): VectorStore {
  database.prepare("INSERT OR IGNORE INTO models (name) VALUES (?)").run(name);
  const model = Number(database.prepare("SELECT id FROM models WHERE name = ?").get(name)?.id);
  const statements = prepareAll(database, model);
  const dimensions = () => {
    const value = statements.dimensions.get()?.dimensions;
    return typeof value === "number" ? value : undefined;
  };
  const blobs = <T>(found: Record<string, unknown>[], read: (bytes: ArrayBuffer) => T) =>
    new Map(found.flatMap(({ key, value }) => (value instanceof Uint8Array ? [[String(key), read(copy(value))]] : [])));

  return {
    dimensions,
    missing: (keys) => new Set(statements.missing.all(JSON.stringify(keys)).map(({ key }) => String(key))),
    put(vectors) {
      let isFitting = true;
      inTransaction(database, () => {
        const length = dimensions() ?? vectors[0]?.vector.length;
        isFitting = vectors.every(({ vector }) => vector.length === length);
        if (!isFitting || length === undefined) return;
        statements.setDimensions.run(length);
        for (const { key, vector } of vectors) {
          statements.putSigns.run(key, bytesOf(signsOf(vector)));
          statements.putCodes.run(key, bytesOf(quantize(vector)));
        }
      });
      return isFitting;
    },
    signs: (keys) => blobs(statements.signs.all(JSON.stringify(keys)), (bytes) => new Int32Array(bytes)),
    codes: (keys) => blobs(statements.codes.all(JSON.stringify(keys)), (bytes) => new Int8Array(bytes)),
    keys: () => statements.keys.all().map(({ key }) => String(key)),
    remove(keys) {
      if (keys.length === 0) return;
      inTransaction(database, () => {
        statements.removeSigns.run(JSON.stringify(keys));
        statements.removeCodes.run(JSON.stringify(keys));
      });
    },
    removeOtherModels() {
      if (statements.otherModel.get() === undefined) return;
      inTransaction(database, () => {
        for (const table of ["signs", "codes"]) database.exec(`DELETE FROM ${table} WHERE model <> ${model}`);
        database.exec(`DELETE FROM models WHERE id <> ${model}`);
      });
    },
    version: () => pragma(database, "data_version"),
    lease: (owner, now, until) => Number(statements.lease.run({ owner, now, until }).changes) > 0,
    release: (owner) => void statements.release.run(owner),
    fact(named) {
      const value = statements.fact.get(named)?.value;
      return value === undefined ? undefined : String(value);
    },
    setFact(named, value) {
      if (value === undefined) statements.removeFact.run(named);
      else statements.setFact.run(named, value);
    },
    purge: () => database.exec("PRAGMA wal_checkpoint (TRUNCATE)"),
    close: () => database.close(),
  };
}

function prepareAll(database: DatabaseSync, model: number) {
  const wanted = "(SELECT value FROM json_each (?))";
  return {
    dimensions: database.prepare(`SELECT dimensions FROM models WHERE id = ${model}`),
    setDimensions: database.prepare(`UPDATE models SET dimensions = ? WHERE id = ${model} AND dimensions IS NULL`),
    missing: database.prepare(
      `SELECT value AS key FROM json_each (?) WHERE NOT EXISTS (SELECT 1 FROM signs WHERE model = ${model} AND key = value)`,
    ),
    putSigns: database.prepare(`INSERT OR REPLACE INTO signs (model, key, signs) VALUES (${model}, ?, ?)`),
    putCodes: database.prepare(`INSERT OR REPLACE INTO codes (model, key, codes) VALUES (${model}, ?, ?)`),
    signs: database.prepare(`SELECT key, signs AS value FROM signs WHERE model = ${model} AND key IN ${wanted}`),
    codes: database.prepare(`SELECT key, codes AS value FROM codes WHERE model = ${model} AND key IN ${wanted}`),
    keys: database.prepare("SELECT DISTINCT key FROM signs"),
    removeSigns: database.prepare(`DELETE FROM signs WHERE model IN (SELECT id FROM models) AND key IN ${wanted}`),
    removeCodes: database.prepare(`DELETE FROM codes WHERE model IN (SELECT id FROM models) AND key IN ${wanted}`),
    otherModel: database.prepare(`SELECT 1 FROM models WHERE id <> ${model} LIMIT 1`),
    lease: database.prepare(
      `INSERT INTO lease (id, owner, until) VALUES (1, $owner, $until) ON CONFLICT (id) DO UPDATE
       SET owner = excluded.owner, until = excluded.until WHERE owner = excluded.owner OR until <= $now`,
    ),
    release: database.prepare("DELETE FROM lease WHERE owner = ?"),
    fact: database.prepare("SELECT value FROM facts WHERE name = ?"),
    setFact: database.prepare("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"),
    removeFact: database.prepare("DELETE FROM facts WHERE name = ?"),
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: Int8Array | Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Copies the bytes, because SQLite's may be unaligned for 32-bit numbers. */
function copy(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}
