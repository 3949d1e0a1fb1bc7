/** Summarises CSV and TSV: columns, number of rows, and the first rows. */
import { pipeline } from "node:stream";
import { parse } from "csv-parse";
import { formatNumber } from "../../lib/text/format-number.ts";
import { oneLine } from "../../lib/text/sanitize.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { TextEncodingName } from "./content-type.ts";
import { csvParsing, delimiterOf } from "./delimiter.ts";
import type { DocumentFile } from "./documents.ts";
import { maxExcerptCharacters, maxInspectionMs } from "./limits.ts";
import { decodedText } from "./text-file.ts";

interface TableLook {
  mimeType: string;
  summary: string;
  /** The first rows. */
  rows: string;
}

/** Why counting the rows stopped early. */
type Stop = "broken" | "time";

const rowsBetweenChecks = 1_000;
const maxShownRows = 10;
const maxShownColumns = 50;
const maxNameCharacters = 60;
const maxFieldCharacters = 1024 * 1024;

const endings = [".csv", ".tsv", ".tab"];

/** Undefined if the text is not a table. */
export async function tableLook(
  file: DocumentFile,
  encoding: TextEncodingName,
  head: string,
): Promise<TableLook | undefined> {
  if (!endings.includes(file.ending)) return undefined;
  const isTab = file.ending !== ".csv";
  const delimiter = isTab ? "\t" : delimiterOf(head, head.length < file.size);
  const parser = parse({ ...csvParsing, delimiter, max_record_size: maxFieldCharacters });
  // The callback can be empty, because the code that reads the records receives the errors.
  pipeline(decodedText(file, encoding), parser, () => {});
  const rows: string[][] = [];
  const end = performance.now() + maxInspectionMs;
  let count = 0;
  let stop: Stop | undefined;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      count += 1;
      if (rows.length <= maxShownRows) rows.push(record);
      if (count % rowsBetweenChecks === 0 && performance.now() > end) {
        stop = "time";
        break;
      }
    }
  } catch {
    stop = "broken";
  }
  return { mimeType: isTab ? "text/tab-separated-values" : "text/csv", ...described(rows, count - 1, stop) };
}

function described(
  rows: readonly string[][],
  count: number,
  stop: Stop | undefined,
): { summary: string; rows: string } {
  const [columns = []] = rows;
  const names = columns.slice(0, maxShownColumns).map((name) => oneLine(name, maxNameCharacters) || "(no name)");
  const more = columns.length > names.length ? `, and ${columns.length - names.length} more` : "";
  const amount = `${formatNumber(Math.max(0, count))} ${count === 1 ? "row" : "rows"}`;
  const rest = stop === "broken" ? " before a row that can't be read" : "";
  const least = stop === "time" ? "more than " : "";
  const shown = rows.map((row) => row.map((cell) => oneLine(cell, maxNameCharacters)).join(" | ")).join("\n");
  return {
    summary: `table of ${least}${amount}${rest} and ${columns.length} columns (${names.join(", ")}${more})`,
    rows: shorten(shown, maxExcerptCharacters),
  };
}
