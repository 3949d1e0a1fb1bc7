/**
 * Reads rows from an array of objects (or an object with exactly one such array), or from one object per line. Integers
 * beyond JavaScript's safe range are kept exactly, as 64-bit numbers or as text. Nested values become JSON text.
 */
import { messageOf } from "../../src/plugin-sdk/errors.ts";
import { encodingOf, textOf } from "./csv.ts";
import { columnNames } from "./names.ts";
import { dataProblem } from "./problem.ts";
import type { DataFile } from "./requests.ts";

export type Cell = string | number | bigint | null;

export interface JsonRows {
  columns: JsonColumn[];
  rows: Cell[][];
  notes: string[];
}

export interface JsonColumn {
  name: string;
  /** Empty if the column mixes types. Then each value keeps its own type. */
  type: "INTEGER" | "REAL" | "TEXT" | "";
  note: string | undefined;
}

type Kind = "whole" | "decimal" | "boolean" | "text" | "nested";

const maxBytes = 64 * 1024 * 1024;
const maxColumns = 1_000;
const largest = 2n ** 63n - 1n;
/** Digits that a double may not preserve. Numbers are then parsed from their source text, which is slow. */
const longNumber = /\d{16}/;

/** `JSON.rawJSON` keeps a number exactly as written. TypeScript's library does not declare it yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): { rawJSON: string };
  isRawJSON(value: unknown): value is { rawJSON: string };
};

export function readJson(file: DataFile): JsonRows {
  if (file.size > maxBytes) throw dataProblem(file.name, "is larger than 64 MiB: use CSV, or a part of it");
  const text = [...textOf(file, encodingOf(file))].join("");
  if (file.format === "json-lines") return rowsOf(linesOf(text, file.name), file.name, []);
  const { items, notes } = itemsOf(parse(text, file.name), file.name);
  return rowsOf(items, file.name, notes);
}

function linesOf(text: string, name: string): unknown[] {
  return text
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parse(line, `${name}, line ${index + 1}`)]));
}

function parse(text: string, place: string): unknown {
  try {
    if (!longNumber.test(text)) return JSON.parse(text);
    return JSON.parse(text, ((_key: string, value: unknown, { source }: { source?: string }) =>
      typeof value === "number" && source !== undefined && !isKept(value, source) ? rawJSON(source) : value) as (
      key: string,
      value: unknown,
    ) => unknown);
  } catch (thrown) {
    throw dataProblem(place, `is not valid JSON (${messageOf(thrown)})`);
  }
}

function isKept(value: number, source: string): boolean {
  return !/^-?\d+$/.test(source) || Number.isSafeInteger(value);
}

function itemsOf(value: unknown, name: string): { items: unknown[]; notes: string[] } {
  if (Array.isArray(value)) return { items: value, notes: [] };
  if (!isObject(value)) throw dataProblem(name, "contains a single value: an array of objects is needed");
  const tables = Object.entries(value).filter(
    (entry): entry is [string, unknown[]] => Array.isArray(entry[1]) && entry[1].length > 0 && entry[1].every(isObject),
  );
  const [table] = tables;
  if (tables.length === 1 && table !== undefined)
    return { items: table[1], notes: [`its rows are those of ${JSON.stringify(table[0])}`] };
  const note = "it is one object, read as one row; use json_each for arrays in it";
  return { items: [value], notes: tables.length > 1 ? [note] : [] };
}

function rowsOf(items: unknown[], name: string, notes: string[]): JsonRows {
  const keys = new Map<string, number>();
  for (const item of items)
    for (const key of Object.keys(isObject(item) ? item : { value: item }))
      if (!keys.has(key)) keys.set(key, keys.size);
  if (keys.size === 0)
    throw dataProblem(name, "contains no objects with values: there is nothing to make a table from");
  if (keys.size > maxColumns)
    throw dataProblem(name, `has ${keys.size} different keys; the limit for columns is ${maxColumns}`);
  const kinds = [...keys].map(() => new Set<Kind>());
  const rows = items.map((item) => {
    const row: Cell[] = new Array<Cell>(keys.size).fill(null);
    for (const [key, value] of Object.entries(isObject(item) ? item : { value: item })) {
      const index = keys.get(key) ?? 0;
      if (value === null || value === undefined) continue;
      const { cell, kind } = cellOf(value);
      row[index] = cell;
      kinds[index]?.add(kind);
    }
    return row;
  });
  const columns = columnNames([...keys.keys()]).map((column, index) => columnOf(column, kinds[index] ?? new Set()));
  return { columns, rows, notes };
}

function cellOf(value: unknown): { cell: Cell; kind: Kind } {
  if (typeof value === "string") return { cell: value.toWellFormed(), kind: "text" };
  if (typeof value === "boolean") return { cell: value ? 1 : 0, kind: "boolean" };
  if (typeof value === "number")
    return {
      cell: Number.isSafeInteger(value) ? BigInt(value) : value,
      kind: Number.isInteger(value) ? "whole" : "decimal",
    };
  if (!isRawJSON(value)) return { cell: JSON.stringify(value), kind: "nested" };
  const number = BigInt(value.rawJSON);
  const isStored = number <= largest && number >= -largest - 1n;
  return isStored ? { cell: number, kind: "whole" } : { cell: value.rawJSON, kind: "text" };
}

function columnOf(name: string, kinds: ReadonlySet<Kind>): JsonColumn {
  const has = (...wanted: Kind[]) => [...kinds].every((kind) => wanted.includes(kind));
  if (kinds.size === 0) return { name, type: "TEXT", note: "always empty" };
  if (has("boolean")) return { name, type: "INTEGER", note: "true is 1, false is 0" };
  if (has("whole")) return { name, type: "INTEGER", note: undefined };
  if (has("whole", "decimal")) return { name, type: "REAL", note: undefined };
  if (has("text")) return { name, type: "TEXT", note: undefined };
  if (has("nested")) return { name, type: "TEXT", note: "JSON: use json_extract and json_each" };
  const names: { [kind in Kind]: string } = {
    whole: "numbers",
    decimal: "numbers",
    boolean: "true/false",
    text: "text",
    nested: "JSON",
  };
  return { name, type: "", note: `holds ${[...new Set([...kinds].map((kind) => names[kind]))].join(" and ")}` };
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawJSON(value);
}
