/** Loads files into an in-memory database. CSV is loaded as text first, and copied once its column types are known. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { readCsv } from "./csv.ts";
import { type ColumnType, createInference, type Inference } from "./inference.ts";
import { type Cell, type JsonColumn, readJson } from "./json-rows.ts";
import { columnNames, quoted, tableName } from "./names.ts";
import { dataProblem } from "./problem.ts";
import type { CsvOptions, DataFile, Source } from "./requests.ts";

export interface Column {
  name: string;
  type: ColumnType | "";
  note: string | undefined;
}

export interface Table {
  name: string;
  file: string;
  reading: string;
  rows: number;
  columns: Column[];
  notes: string[];
}

const maxColumns = 1_000;
const delimiterNames = new Map([
  [",", "commas"],
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "bars"],
]);

export async function loadTables(database: DatabaseSync, { files, csv }: Source): Promise<Table[]> {
  const taken = new Set<string>();
  const tables: Table[] = [];
  for (const file of files) {
    const name = tableName(file.name, taken);
    taken.add(name.toLowerCase());
    tables.push(file.format === "csv" ? await loadCsv(database, file, name, csv) : loadJson(database, file, name));
  }
  return tables;
}

function loadJson(database: DatabaseSync, file: DataFile, name: string): Table {
  const { columns, rows, notes } = readJson(file);
  createTable(database, name, columns);
  insertAll(database, name, columns.length, rows);
  const reading = file.format === "json" ? "JSON" : "JSON Lines";
  return { name, file: file.name, reading, rows: rows.length, columns, notes };
}

function insertAll(database: DatabaseSync, name: string, width: number, rows: Iterable<Cell[]>): void {
  const insert = insertInto(database, name, width);
  database.exec("BEGIN");
  for (const row of rows) insert.run(...row);
  database.exec("COMMIT");
}

async function loadCsv(database: DatabaseSync, file: DataFile, name: string, options: CsvOptions): Promise<Table> {
  const { delimiter, encoding, records } = readCsv(file, options);
  const texts = await stageCsv(database, file.name, records, options.hasHeader);
  const inferred = texts.inferences.map((inference) => inference.result());
  const columns = texts.names.map((column, index): Column => {
    const { type, note } = inferred[index] ?? { type: "TEXT" as const, note: undefined };
    return { name: column, type, note };
  });
  createTable(database, name, columns);
  const values = inferred.map(({ empties }, index) => {
    const cell = `c${index}`;
    const isEmpty = ["", ...empties].map((empty) => `'${empty.replaceAll("'", "''")}'`).join(", ");
    return `CASE WHEN ${cell} IN (${isEmpty}) THEN NULL ELSE ${cell} END`;
  });
  database.exec(`INSERT INTO ${quoted(name)} SELECT ${values.join(", ")} FROM temp.staged; DROP TABLE temp.staged`);
  const separated = delimiterNames.get(delimiter) ?? JSON.stringify(delimiter);
  const charset = encoding === "utf-8" ? "" : `, ${encoding}`;
  return {
    name,
    file: file.name,
    reading: `CSV with ${separated}${charset}`,
    rows: texts.rows,
    columns,
    notes: texts.notes,
  };
}

interface StagedTexts {
  names: string[];
  inferences: Inference[];
  rows: number;
  notes: string[];
}

async function stageCsv(
  database: DatabaseSync,
  place: string,
  records: AsyncIterable<string[]>,
  hasHeader: boolean,
): Promise<StagedTexts> {
  const staging = createStaging(database, place);
  let header: string[] | undefined;
  let [short, long] = [0, 0];
  for await (const record of records) {
    if (header === undefined) {
      header = hasHeader ? record : record.map((_value, index) => `c${index + 1}`);
      staging.widen(header.length);
      if (hasHeader) continue;
    }
    if (record.length < header.length) short += 1;
    if (record.length > header.length) long += 1;
    staging.widen(record.length);
    staging.add(record);
  }
  if (header === undefined) throw dataProblem(place, "is empty");
  const { inferences, rows } = staging.end();
  const extra = Array.from({ length: inferences.length - header.length }, (_, index) =>
    hasHeader ? "" : `c${(header?.length ?? 0) + index + 1}`,
  );
  const names = columnNames([...header, ...extra]);
  return { names, inferences, rows, notes: csvNotes({ header, hasHeader, names, short, long, rows }) };
}

function createStaging(database: DatabaseSync, place: string) {
  const inferences: Inference[] = [];
  let insert: StatementSync | undefined;
  let rows = 0;
  return {
    widen(width: number): void {
      if (width <= inferences.length) return;
      if (width > maxColumns) {
        throw dataProblem(
          place,
          `has a line with ${width} values; the limit for columns is ${maxColumns}: check the delimiter`,
        );
      }
      if (inferences.length === 0) database.exec("CREATE TABLE temp.staged (c0 TEXT); BEGIN");
      for (let index = inferences.length; index < width; index += 1) {
        if (index > 0) database.exec(`ALTER TABLE temp.staged ADD COLUMN c${index} TEXT DEFAULT ''`);
        inferences.push(createInference());
      }
      insert = insertInto(database, "staged", width);
    },
    add(record: string[]): void {
      for (let index = 0; index < inferences.length; index += 1) inferences[index]?.add(record[index] ?? "");
      insert?.run(...inferences.map((_inference, index) => record[index] ?? ""));
      rows += 1;
    },
    end() {
      database.exec("COMMIT");
      return { inferences, rows };
    },
  };
}

function csvNotes(read: {
  header: string[];
  hasHeader: boolean;
  names: string[];
  short: number;
  long: number;
  rows: number;
}): string[] {
  const { header, hasHeader, names, short, long, rows } = read;
  const notes: string[] = [];
  const renamed = names.flatMap((name, index) => {
    const written = header[index]?.trim() ?? "";
    return index < header.length && (written === "" || name.toLowerCase() !== written.toLowerCase()) ? [name] : [];
  });
  if (renamed.length > 0)
    notes.push(`headers that were empty, repeated or irregular became ${renamed.slice(0, 10).join(", ")}`);
  if (short > 0)
    notes.push(`${short} of ${rows} lines have fewer values than the first one: the missing ones are empty`);
  if (long > 0)
    notes.push(
      `${long} of ${rows} lines have more values than the first one: they are in ${names.slice(header.length, header.length + 5).join(", ")}`,
    );
  const isData = hasHeader && header.length > 0 && header.every((value) => /^-?[\d.,]+$/.test(value.trim()));
  if (isData) notes.push("the first line looks like data: if it is, use header false");
  return notes;
}

function createTable(database: DatabaseSync, name: string, columns: readonly (Column | JsonColumn)[]): void {
  database.exec(
    `CREATE TABLE ${quoted(name)} (${columns.map((column) => `${quoted(column.name)} ${column.type}`).join(", ")})`,
  );
}

function insertInto(database: DatabaseSync, name: string, width: number): StatementSync {
  return database.prepare(`INSERT INTO ${quoted(name)} VALUES (${new Array(width).fill("?").join(", ")})`);
}
