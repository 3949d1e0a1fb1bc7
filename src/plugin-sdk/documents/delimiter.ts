/** Finds the character that separates the columns of a CSV text. */
import { parse } from "csv-parse/sync";

/** In order of preference if several fit equally well. */
const delimiters = [",", ";", "\t", "|"];

/** Options for all CSV parsing: lenient, because people's files have stray quotes and rows of different lengths. */
export const csvParsing = {
  bom: true,
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  trim: true,
} as const;

/** `isPart` is true if the sample is only the beginning of the text, so its last line may be incomplete. */
export function delimiterOf(sample: string, isPart: boolean, skippedLines = 0): string {
  const lines = isPart ? sample.slice(0, sample.lastIndexOf("\n") + 1) || sample : sample;
  let best = { delimiter: ",", score: 0 };
  for (const delimiter of delimiters) {
    const score = scoreOf(lines, delimiter, skippedLines);
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

function scoreOf(lines: string, delimiter: string, skippedLines: number): number {
  try {
    const options = { ...csvParsing, delimiter, from_line: skippedLines + 1, to: 200 };
    const records = parse(lines, options) as string[][];
    const widths = new Map<number, number>();
    for (const { length } of records) widths.set(length, (widths.get(length) ?? 0) + 1);
    const several = [...widths].filter(([width]) => width > 1).sort(([, one], [, other]) => other - one);
    const [width = 0, count = 0] = several[0] ?? [];
    // Of two delimiters that fit equally well, prefer the one that gives more columns.
    return count * 2 < records.length ? 0 : (count / records.length) * 100 + Math.min(width, 50) / 100;
  } catch {
    return 0;
  }
}
