/**
 * Reads the lines of the event log that name one turn, a bounded part at a time:
 *
 *   1. take the files of the days on which the turn was active
 *   2. in each, find by bisection where the turn's time begins, and stop where it ends
 *   3. stop after a limited number of bytes or lines, and say where to continue
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { toIsoDate } from "../lib/iso-date.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import { listAuditFiles } from "./files.ts";
import { type AuditLine, parseLine } from "./line.ts";

export interface TurnLogLine {
  at: string;
  event: string;
  /** The other fields, as `name: value` on one line. */
  fields: string;
}

export interface TurnLogPart {
  /** Sorted by time. */
  lines: TurnLogLine[];
  /** Continues the log if passed as `after`. Null at its end. */
  next: string | null;
}

const maxLines = 500;
const maxFieldCharacters = 2_000;
/** Bytes that one part reads at most, besides what the bisection reads. */
const maxPartBytes = 16 * 1024 * 1024;
const chunkBytes = 256 * 1024;
/** Longer lines are left out. */
const maxLineBytes = 2 * 1024 * 1024;
/** Lines of one file can be out of order by the time that they waited for the disk. */
const disorderMs = 60_000;
const lineEnd = 10;
/** Fields that repeat what the whole log is about, or that only the audit's chain needs. */
const leftOut: ReadonlySet<string> = new Set(["chain", "sequence", "prev", "at", "event", "turnId", "conversationId"]);

interface Wanted {
  turnId: string;
  /** Milliseconds. */
  from: number;
  to: number;
}

export async function readTurnLog(folder: string, wanted: Wanted & { after?: string }): Promise<TurnLogPart> {
  const [first, last] = [toIsoDate(wanted.from), toIsoDate(wanted.to)];
  const [, afterFile = "", offset = "0"] = /^(.*):(\d+)$/.exec(wanted.after ?? "") ?? [];
  const files = (await listAuditFiles(folder)).filter(
    ({ day, name }) => day >= first && day <= last && name >= afterFile,
  );
  const lines: TurnLogLine[] = [];
  let bytesLeft = maxPartBytes;
  for (const { name } of files) {
    const handle = await open(join(folder, name), "r");
    try {
      const { size } = await handle.stat();
      let at = name === afterFile ? Number(offset) : await startOf(handle, size, wanted.from - disorderMs);
      while (at < size) {
        if (bytesLeft <= 0 || lines.length >= maxLines) return { lines: byTime(lines), next: `${name}:${at}` };
        const part = await readLines(handle, at, size);
        const found = linesIn(part.lines, wanted.turnId, maxLines - lines.length);
        lines.push(...found.lines);
        bytesLeft -= part.bytesRead;
        at += found.usedBytes ?? part.usedBytes;
        if (timeOf(part.lines.at(-1)) > wanted.to + disorderMs) break;
      }
    } finally {
      await handle.close();
    }
  }
  return { lines: byTime(lines), next: null };
}

/** Returns whole lines from `at` on. A line that is too long is skipped, piece by piece. */
async function readLines(handle: FileHandle, at: number, size: number) {
  for (let length = chunkBytes; ; length *= 2) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(length, size - at)), 0, undefined, at);
    const bytes = buffer.subarray(0, bytesRead);
    const end = bytes.lastIndexOf(lineEnd);
    // The rest of a file without a line break is torn, or is being written.
    if (end === -1 && (at + bytesRead >= size || length >= maxLineBytes))
      return { lines: [], usedBytes: bytesRead, bytesRead };
    if (end !== -1) return { lines: split(bytes.subarray(0, end + 1)), usedBytes: end + 1, bytesRead };
  }
}

function split(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0, end = bytes.indexOf(lineEnd); end !== -1; start = end + 1, end = bytes.indexOf(lineEnd, start))
    lines.push(bytes.subarray(start, end));
  return lines;
}

/** `usedBytes` is present if more lines follow than there is room for. */
function linesIn(all: readonly Buffer[], turnId: string, room: number): { lines: TurnLogLine[]; usedBytes?: number } {
  const wanted = Buffer.from(JSON.stringify(turnId).slice(1, -1));
  const lines: TurnLogLine[] = [];
  let usedBytes = 0;
  for (const bytes of all) {
    const line = bytes.includes(wanted) ? parseLine(bytes.toString()) : undefined;
    if (line !== undefined && isOf(line, turnId)) {
      if (lines.length >= room) return { lines, usedBytes };
      lines.push({ at: line.at, event: line.event, fields: fieldsText(line) });
    }
    usedBytes += bytes.length + 1;
  }
  return { lines };
}

/** Finds a place before the first line that is not older than `from`. */
async function startOf(handle: FileHandle, size: number, from: number): Promise<number> {
  let [low, high] = [0, size];
  while (high - low > chunkBytes) {
    const middle = Math.floor((low + high) / 2);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, undefined, middle);
    // The first line is probably a part of one.
    const begin = buffer.subarray(0, bytesRead).indexOf(lineEnd) + 1;
    const end = buffer.subarray(0, bytesRead).indexOf(lineEnd, begin);
    const at = begin === 0 || end === -1 ? Number.NaN : timeOf(buffer.subarray(begin, end));
    if (at < from) low = middle + begin;
    else high = middle;
  }
  return low;
}

function timeOf(bytes: Buffer | undefined): number {
  return Date.parse((bytes === undefined ? undefined : parseLine(bytes.toString()))?.at ?? "");
}

function isOf({ turnId: id, turnIds, subject }: AuditLine, turnId: string): boolean {
  return id === turnId || subject === turnId || (Array.isArray(turnIds) && turnIds.includes(turnId));
}

function fieldsText(line: AuditLine): string {
  return Object.entries(line)
    .filter(([name]) => !leftOut.has(name))
    .map(
      ([name, value]) =>
        `${name}: ${oneLine(typeof value === "string" ? value : JSON.stringify(value), maxFieldCharacters)}`,
    )
    .join(" · ");
}

function byTime(lines: TurnLogLine[]): TurnLogLine[] {
  return lines.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}
