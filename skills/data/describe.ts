/** Describes tables: type, empty values, distinct values and samples of every column. */
import { type Data, select } from "./database.ts";
import { quoted } from "./names.ts";
import type { Value } from "./rows.ts";
import { lineOf, number, shownValue } from "./show.ts";
import type { Column, Table } from "./tables.ts";

const maxColumns = 60;
const samples = 3;
const sampleCharacters = 40;
const isoDate = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*";

export async function describeData(data: Data): Promise<string> {
  const parts: string[] = [];
  for (const table of data.tables) parts.push(await describeTable(data, table));
  return parts.join("\n\n");
}

async function describeTable(data: Data, table: Table): Promise<string> {
  const { name, file, reading, rows, columns, notes } = table;
  const shown = columns.slice(0, maxColumns);
  const lines: string[] = [];
  for (const column of shown) lines.push(await describeColumn(data, table, column));
  const more = columns.length - shown.length;
  const header = ["column", "type", "empty", "different", "smallest", "largest", "samples"];
  const all = [...notes, ...columns.flatMap((column) => noteOf(column))];
  return [
    `**${file}** is the table \`${name}\`: ${number(rows)} ${rows === 1 ? "row" : "rows"}, ${columns.length} columns, ${reading}.`,
    "",
    lineOf(header),
    `|${" --- |".repeat(header.length)}`,
    ...lines,
    ...(more > 0
      ? [
          "",
          `(and ${more} more columns: ${columns
            .slice(maxColumns)
            .map((column) => column.name)
            .join(", ")
            .slice(0, 2_000)})`,
        ]
      : []),
    ...(all.length > 0 ? ["", ...all.map((note) => `- ${note}`)] : []),
  ].join("\n");
}

async function describeColumn(data: Data, table: Table, { name, type }: Column): Promise<string> {
  const [column, from] = [quoted(name), quoted(table.name)];
  const facts = `SELECT count(*) - count(${column}), count(DISTINCT ${column}), min(${column}), max(${column}), sum(${column} GLOB '${isoDate}') = count(${column}) FROM ${from}`;
  const [row = []] = (await select(data, facts, 1)).rows;
  const [empty = 0n, different = 0n, smallest = null, largest = null, areDates = null] = row;
  const first = await select(
    data,
    `SELECT DISTINCT ${column} FROM ${from} WHERE ${column} IS NOT NULL LIMIT ${samples}`,
    samples,
  );
  const cells = [
    name,
    typeText(type, areDates === 1n),
    String(empty),
    String(different),
    short(smallest),
    short(largest),
  ];
  return lineOf([...cells, first.rows.map(([value = null]) => short(value)).join(", ")]);
}

function typeText(type: Column["type"], areDates: boolean): string {
  switch (type) {
    case "INTEGER":
      return "whole number";
    case "REAL":
      return "number";
    case "TEXT":
      return areDates ? "text (dates)" : "text";
    case "":
      return "mixed";
    default:
      return type satisfies never;
  }
}

function short(value: Value): string {
  const text = value === null ? "" : shownValue(value);
  return text.length > sampleCharacters ? `${text.slice(0, sampleCharacters).toWellFormed()}…` : text;
}

export function noteOf({ name, note }: Column): string[] {
  return note === undefined ? [] : [`${name}: ${note}`];
}
