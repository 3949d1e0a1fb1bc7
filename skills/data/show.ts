/** Formats rows as a Markdown table for people, and as files. */
import type { SavedFormat } from "./requests.ts";
import type { Rows, Value } from "./rows.ts";

const maxCellLength = 200;
const maxCharacters = 18_000;

export function rowsAsText({ columns, rows, count, isCounted }: Rows): string {
  if (count === 0) return `No rows. Columns: ${columns.join(", ")}.`;
  const lines = [lineOf(columns), `|${" --- |".repeat(columns.length)}`];
  let room = maxCharacters - lines.join("\n").length;
  let shown = 0;
  for (const row of rows) {
    const line = lineOf(row.map(shownValue));
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
    shown += 1;
  }
  const all = `${isCounted ? "" : "over "}${number(count)}`;
  const said = shown === count ? `${all} ${count === 1 ? "row" : "rows"}` : `the first ${number(shown)} of ${all} rows`;
  return [...lines, "", `(${said})`].join("\n");
}

export function lineOf(cells: readonly string[]): string {
  const clean = cells.map((cell) => cell.replace(/\s*[\r\n]+\s*/g, " ↵ ").replaceAll("|", "\\|"));
  return `| ${clean.join(" | ")} |`;
}

/** Shows numbers with 15 digits, which every double preserves, and truncates long texts. */
export function shownValue(value: Value): string {
  if (value === null) return "NULL";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return String(Number(value.toPrecision(15)));
  if (typeof value !== "string") return `(${value.length} bytes)`;
  const clean = value.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    /[\r\n\t]/.test(character) ? character : "�",
  );
  return clean.length > maxCellLength ? `${clean.slice(0, maxCellLength).toWellFormed()}…` : clean;
}

export function rowsAsFile({ columns, rows }: Rows, format: SavedFormat): string {
  switch (format) {
    case "csv":
      return separated(columns, rows, ",");
    case "tsv":
      return separated(columns, rows, "\t");
    case "json":
      return `${JSON.stringify(
        rows.map((row) => objectOf(columns, row)),
        null,
        2,
      )}\n`;
    case "json-lines":
      return rows.map((row) => `${JSON.stringify(objectOf(columns, row))}\n`).join("");
    case "markdown": {
      const lines = rows.map((row) => lineOf(row.map((value) => (value === null ? "" : plain(value)))));
      return `${[lineOf(columns), `|${" --- |".repeat(columns.length)}`, ...lines].join("\n")}\n`;
    }
    default:
      return format satisfies never;
  }
}

function separated(columns: readonly string[], rows: readonly Value[][], delimiter: string): string {
  const field = (text: string) => (/["\r\n,;\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells: readonly string[]) => `${cells.map(field).join(delimiter)}\r\n`;
  return line(columns) + rows.map((row) => line(row.map((value) => (value === null ? "" : plain(value))))).join("");
}

/** Renames columns with equal names, because they would overwrite each other. */
function objectOf(columns: readonly string[], row: readonly Value[]): { [column: string]: unknown } {
  const entries = columns.map((column, index): [string, unknown] => {
    const value = row[index] ?? null;
    const name = columns.indexOf(column) === index ? column : `${column}_${index + 1}`;
    // Write integers beyond 2^53 as text, because JSON readers would round them.
    if (typeof value === "bigint") return [name, Number.isSafeInteger(Number(value)) ? Number(value) : String(value)];
    return [name, value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value];
  });
  return Object.fromEntries(entries);
}

function plain(value: Exclude<Value, null>): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : String(value);
}

export function number(value: number): string {
  return value.toLocaleString("en");
}
