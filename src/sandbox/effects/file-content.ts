/** Reads a file once for its hash, its counts and its diff. */
import { createHash, hash } from "node:crypto";
import { read as readCallback, readSync } from "node:fs";
import { promisify } from "node:util";
import type { Pace } from "./pace.ts";
import { countControls, createPartFinder, isText, maxControlShare, startsScript } from "./text-bytes.ts";

export interface FileContent {
  hash: string;
  bytes: number;
  /** Most of it is text, in whatever encoding, or it begins as a script. */
  isText: boolean;
  /** Counts a last line without a line break too. */
  lines: number;
  /** All of it. Absent if it is too large, and then `parts` is what can be read in it. */
  whole: Buffer | undefined;
  start: Buffer;
  /** Undefined if the file is whole, or if there is too much to read. */
  parts: string[] | undefined;
}

/** Files up to this size are read in one piece and compared line by line. */
const maxWholeBytes = 8 * 1024 * 1024;
const chunkBytes = 1024 * 1024;
const startBytes = 512;

const read = promisify(readCallback);

export async function readContent(fd: number, expectedBytes: number, pace: Pace): Promise<FileContent> {
  if (expectedBytes <= maxWholeBytes) {
    const whole = readWhole(fd, expectedBytes);
    if (whole !== undefined) return describe(whole);
  }
  return readLarge(fd, pace);
}

function readWhole(fd: number, expectedBytes: number): Buffer | undefined {
  let buffer = Buffer.allocUnsafe(expectedBytes + 1);
  let length = 0;
  for (;;) {
    const bytes = readSync(fd, buffer, length, buffer.length - length, length);
    if (bytes === 0) return buffer.subarray(0, length);
    length += bytes;
    if (length > maxWholeBytes) return undefined;
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
  }
}

function describe(whole: Buffer): FileContent {
  return {
    ...{ hash: hash("sha256", whole), bytes: whole.length, isText: isText(whole), whole, parts: undefined },
    lines: lineBreaks(whole) + (isOpenEnd(whole.at(-1)) ? 1 : 0),
    start: whole.subarray(0, startBytes),
  };
}

async function readLarge(fd: number, pace: Pace): Promise<FileContent> {
  const digest = createHash("sha256");
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let found: ReturnType<typeof createPartFinder> | undefined;
  let [bytes, lines, controls] = [0, 0, 0];
  let start: Buffer = Buffer.alloc(0);
  let last: number | undefined;
  for (;;) {
    const { bytesRead } = await read(fd, chunk, 0, chunk.length, bytes);
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    if (bytes === 0) start = Buffer.from(part.subarray(0, startBytes));
    // A text is never shown in parts.
    if (bytes === 0 && !isText(part)) found = createPartFinder();
    bytes += bytesRead;
    last = part.at(-1);
    digest.update(part);
    lines += lineBreaks(part);
    controls += countControls(part);
    found?.add(part);
    if (pace.isDue()) await pace.rest();
  }
  return {
    ...{ hash: digest.digest("hex"), bytes, start, whole: undefined, parts: found?.all() },
    isText: startsScript(start) || controls <= bytes * maxControlShare,
    lines: lines + (isOpenEnd(last) ? 1 : 0),
  };
}

function isOpenEnd(last: number | undefined): boolean {
  return last !== undefined && last !== 0x0a;
}

function lineBreaks(part: Buffer): number {
  let count = 0;
  for (let at = part.indexOf(0x0a); at >= 0; at = part.indexOf(0x0a, at + 1)) count++;
  return count;
}
