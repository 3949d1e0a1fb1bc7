/** Reads CSV files line by line. Detects character set and delimiter, and counts malformed lines. */
import { readSync } from "node:fs";
import { pipeline } from "node:stream";
import { parse } from "csv-parse";
import { csvParsing, delimiterOf } from "../../src/plugin-sdk/documents/delimiter.ts";
import { messageOf, RemoraError } from "../../src/plugin-sdk/errors.ts";
import { dataProblem } from "./problem.ts";
import type { CsvOptions, DataFile } from "./requests.ts";

export interface CsvReading {
  delimiter: string;
  encoding: string;
  records: AsyncIterable<string[]>;
}

const chunkBytes = 256 * 1024;
const sampleBytes = 128 * 1024;
const maxFieldCharacters = 4 * 1024 * 1024;

export function readCsv(file: DataFile, options: CsvOptions): CsvReading {
  const start = bytesAt(file, 0, Math.min(sampleBytes, file.size));
  const encoding = encodingOf(file, start);
  const sample = new TextDecoder(encoding).decode(start);
  if (encoding === "utf-8" && sample.slice(0, 8_192).includes("\0")) {
    throw dataProblem(file.name, "is binary data, not CSV: save it as CSV first");
  }
  const delimiter =
    options.delimiter ??
    (/\.(?:tsv|tab)$/i.test(file.name) ? "\t" : delimiterOf(sample, file.size > start.length, options.skippedLines));
  return { delimiter, encoding, records: recordsOf(file, encoding, delimiter, options.skippedLines) };
}

export async function* textOf(file: DataFile, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for (let at = 0; at < file.size; at += chunkBytes) {
    yield decoder.decode(bytesAt(file, at, Math.min(chunkBytes, file.size - at)), { stream: true });
  }
  yield decoder.decode();
}

/** Detects the encoding: by byte order mark, else UTF-8 if valid, else Windows-1252. */
export function encodingOf(file: DataFile, [first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for (let at = 0; at < file.size; at += chunkBytes) {
      decoder.decode(bytesAt(file, at, Math.min(chunkBytes, file.size - at)), { stream: true });
    }
    decoder.decode();
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

export function bytesAt({ descriptor, name }: DataFile, position: number, length: number): Uint8Array {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const count = readSync(descriptor, buffer, read, length - read, position + read);
    if (count === 0) throw dataProblem(name, "became shorter while it was being read: try again");
    read += count;
  }
  return buffer;
}

async function* recordsOf(
  file: DataFile,
  encoding: string,
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
