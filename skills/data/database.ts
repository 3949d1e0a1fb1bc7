/**
 * An in-memory database for one request, read-only once its tables are loaded. The SQL comes from a model, so an
 * authorizer permits only SELECT, and no other file can be attached. The isolated process limits time and memory.
 */
import { constants, DatabaseSync } from "node:sqlite";
import { RE2JS } from "re2js";
import { messageOf } from "../../src/plugin-sdk/errors.ts";
import { dataProblem } from "./problem.ts";
import type { Source } from "./requests.ts";
import type { Rows, Value } from "./rows.ts";
import { loadTables, type Table } from "./tables.ts";

export interface Data {
  database: DatabaseSync;
  tables: Table[];
}

const maxCounted = 1_000_000;
const maxValueBytes = 16 * 1024 * 1024;
const maxSqlLength = 100_000;
const comments = /--[^\n]*|\/\*[\s\S]*?\*\//g;
const harmless: readonly number[] = [
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_RECURSIVE,
];

export async function openData(source: Source): Promise<Data> {
  if (!("setAuthorizer" in DatabaseSync.prototype))
    throw dataProblem("data", "needs Node 24.10 or newer to read files safely");
  const database = new DatabaseSync(":memory:", {
    limits: { attach: 0, length: maxValueBytes, sqlLength: 4 * maxSqlLength },
  });
  database.exec("PRAGMA temp_store = MEMORY");
  const tables = await explained("the files", () => loadTables(database, source));
  addFunctions(database);
  database.setAuthorizer((action) => (harmless.includes(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
  return { database, tables };
}

export async function select({ database, tables }: Data, sql: string, most: number): Promise<Rows> {
  if (!/[^\s;]/.test(sql.replace(comments, ""))) throw dataProblem("sql", "is empty: write a SELECT");
  if (sql.length > maxSqlLength) throw dataProblem("sql", `is longer than ${maxSqlLength} characters: shorten it`);
  return await explained(tablesText(tables), () => {
    const statement = database.prepare(sql);
    refuseOthers(statement.sourceSQL, statement.expandedSQL, sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    const columns = statement.columns().map(({ name }) => name);
    if (columns.length === 0) throw dataProblem("sql", "returns no rows: write a SELECT");
    const rows: Value[][] = [];
    let count = 0;
    for (const row of statement.iterate() as Iterable<unknown>) {
      count += 1;
      if (rows.length < most) rows.push(row as Value[]);
      if (count === maxCounted) break;
    }
    return { columns, rows, count, isCounted: count < maxCounted };
  });
}

/** Refuses several statements and parameters. SQLite would ignore later statements and read parameters as NULL. */
function refuseOthers(compiled: string, expanded: string, sql: string): void {
  const rest = sql.slice(sql.indexOf(compiled) + compiled.length).replace(comments, "");
  if (/[^\s;]/.test(rest)) throw dataProblem("sql", "has more than one statement: write one SELECT");
  if (expanded !== compiled)
    throw dataProblem("sql", "has parameters (?, :name, @name or $name): write the values instead");
}

/** Adds the names of tables and columns to SQLite's error, because wrong names are the most frequent mistake. */
async function explained<T>(tables: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Error) || !("code" in thrown) || thrown.code !== "ERR_SQLITE_ERROR") throw thrown;
    const said = messageOf(thrown);
    if (/not authorized|authorization denied/.test(said)) {
      throw dataProblem("sql", "may only SELECT: the files are never changed (save_as writes a result to a new file)");
    }
    if (/out of memory|string or blob too big/.test(said)) {
      throw dataProblem("sql", "needs too much memory: narrow it down, or select fewer columns");
    }
    throw dataProblem("sql", `${said}. ${tables}`);
  }
}

function tablesText(tables: readonly Table[]): string {
  const lines = tables.map(({ name, columns }) => {
    const names = columns.slice(0, 60).map((column) => column.name);
    return `${name} (${names.join(", ")}${columns.length > names.length ? ", …" : ""})`;
  });
  return `Tables: ${lines.join("; ")}. Names with spaces or special characters need double quotes.`;
}

function addFunctions(database: DatabaseSync): void {
  const patterns = new Map<string, RE2JS>();
  database.function("regexp", { deterministic: true, useBigIntArguments: true }, (pattern, value) => {
    if (pattern === null || value === null) return null;
    const written = String(pattern);
    const compiled = patterns.get(written) ?? compile(written);
    patterns.set(written, compiled);
    return compiled.matcher(String(value)).find() ? 1 : 0;
  });
  for (const [name, missing] of [
    ["stddev", 1],
    ["stddev_samp", 1],
    ["stddev_pop", 0],
  ] as const) {
    database.aggregate<Float64Array>(name, {
      start: () => new Float64Array(3),
      step: addToDeviation,
      result: ([count = 0, , squares = 0]) => (count > missing ? Math.sqrt(squares / (count - missing)) : null),
    });
  }
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (thrown) {
    throw dataProblem(
      "sql",
      `${JSON.stringify(pattern)} is not a valid regular expression here (${messageOf(thrown)})`,
    );
  }
}

/** Welford's method updates count, mean and squared differences in one pass, without large intermediate sums. */
function addToDeviation(state: Float64Array, value: unknown): Float64Array {
  if (typeof value !== "number") return state;
  const [count = 0, mean = 0, squares = 0] = state;
  const difference = value - mean;
  const next = mean + difference / (count + 1);
  state.set([count + 1, next, squares + difference * (value - next)]);
  return state;
}
