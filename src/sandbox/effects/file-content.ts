/** Reads a file once for its hash, its counts and its diff. */
import { isUtf8 } from "node:buffer";
import { createHash, hash } from "node:crypto";
import { read as readCallback, readSync } from "node:fs";
import { promisify } from "node:util";
import type { Pace } from "./pace.ts";

export interface FileContent {
  hash: string;
  bytes: number;
  /** True if there is a NUL near the beginning, as in git, or if a small file is not UTF-8. */
  isBinary: boolean;
  /** Counts a last line without a line break too. */
  lines: number;
  whole: Buffer | undefined;
}

/** Files up to this size are read in one piece and compared line by line. */
const maxTextBytes = 1024 * 1024;
/** Git looks for a NUL in this many bytes. */
const binaryProbeBytes = 8_000;

const read = promisify(readCallback);

export async function readContent(fd: number, expectedBytes: number, pace: Pace): Promise<FileContent> {
  if (expectedBytes <= maxTextBytes) {
    const whole = readWhole(fd, expectedBytes);
    if (whole !== undefined) return { ...describe(whole), hash: hash("sha256", whole), whole };
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
    if (length > maxTextBytes) return undefined;
    if (length === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
  }
}

async function readLarge(fd: number, pace: Pace): Promise<FileContent> {
  const digest = createHash("sha256");
  const chunk = Buffer.allocUnsafe(maxTextBytes);
  let bytes = 0;
  let lines = 0;
  let isBinary = false;
  let last: number | undefined;
  for (;;) {
    const { bytesRead } = await read(fd, chunk, 0, chunk.length, bytes);
    if (bytesRead === 0) break;
    const part = chunk.subarray(0, bytesRead);
    if (bytes === 0) isBinary = isBinaryStart(part);
    bytes += bytesRead;
    last = part.at(-1);
    digest.update(part);
    if (!isBinary) lines += lineBreaks(part);
    if (pace.isDue()) await pace.rest();
  }
  if (last !== undefined && last !== 0x0a) lines++;
  return { hash: digest.digest("hex"), bytes, isBinary, lines: isBinary ? 0 : lines, whole: undefined };
}

function describe(whole: Buffer): Pick<FileContent, "bytes" | "isBinary" | "lines"> {
  const isBinary = isBinaryStart(whole) || !isUtf8(whole);
  const isOpenEnd = whole.length > 0 && whole.at(-1) !== 0x0a;
  return { bytes: whole.length, isBinary, lines: isBinary ? 0 : lineBreaks(whole) + (isOpenEnd ? 1 : 0) };
}

function isBinaryStart(part: Buffer): boolean {
  return part.subarray(0, binaryProbeBytes).includes(0);
}

function lineBreaks(part: Buffer): number {
  let count = 0;
  for (let at = part.indexOf(0x0a); at >= 0; at = part.indexOf(0x0a, at + 1)) count++;
  return count;
}
