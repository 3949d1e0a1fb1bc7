/** Reads CSV files line by line. Detects character set and delimiter, and counts malformed lines. */
import { pipeline } from "node:stream";
import { parse } from "csv-parse";
import type { TextEncodingName } from "../../src/plugin-sdk/documents/content-type.ts";
import { csvParsing, delimiterOf } from "../../src/plugin-sdk/documents/delimiter.ts";
import { bytesAt, sizeOf } from "../../src/plugin-sdk/documents/open-file.ts";
import { decodedText, settledEncoding } from "../../src/plugin-sdk/documents/text-file.ts";
import { messageOf, RemoraError } from "../../src/plugin-sdk/errors.ts";
import { dataProblem } from "./problem.ts";
import type { CsvOptions, DataFile } from "./requests.ts";

export interface CsvReading {
  delimiter: string;
  encoding: string;
  records: AsyncIterable<string[]>;
}

const sampleBytes = 128 * 1024;
const maxFieldCharacters = 4 * 1024 * 1024;

export function readCsv(file: DataFile, options: CsvOptions): CsvReading {
  const start = bytesAt(file.descriptor, 0, Math.min(sampleBytes, file.size));
  const encoding = encodingOf(file);
  const sample = new TextDecoder(encoding).decode(start);
  if (encoding === "utf-8" && sample.slice(0, 8_192).includes("\0")) {
    throw dataProblem(file.name, "is binary data, not CSV: save it as CSV first");
  }
  const delimiter =
    options.delimiter ??
    (/\.(?:tsv|tab)$/i.test(file.name) ? "\t" : delimiterOf(sample, file.size > start.length, options.skippedLines));
  return { delimiter, encoding, records: recordsOf(file, encoding, delimiter, options.skippedLines) };
}

export function* textOf(file: DataFile, encoding: TextEncodingName): Generator<string> {
  yield* decodedText(file, encoding);
  if (sizeOf(file.descriptor) < file.size)
    throw dataProblem(file.name, "became shorter while it was being read: try again");
}

/** Detects the encoding: by byte order mark, else UTF-8 if valid, else Windows-1252. */
export function encodingOf(file: DataFile): TextEncodingName {
  const [first, second] = bytesAt(file.descriptor, 0, 2);
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : settledEncoding(file, "utf-8");
}

async function* recordsOf(
  file: DataFile,
  encoding: TextEncodingName,
  delimiter: string,
  skippedLines: number,
): AsyncGenerator<string[]> {
  const parser = parse({ ...csvParsing, delimiter, from_line: skippedLines + 1, max_record_size: maxFieldCharacters });
  // The callback can be empty: a read error destroys the parser, so the loop below throws the error.
  pipeline(textOf(file, encoding), parser, () => {});
  try {
    for await (const record of parser) yield record as string[];
  } catch (thrown) {
    if (thrown instanceof RemoraError) throw thrown;
    throw dataProblem(
      file.name,
      `can't be read as CSV (${messageOf(thrown)}): check that line, and quotes that are not closed`,
    );
  }
}
