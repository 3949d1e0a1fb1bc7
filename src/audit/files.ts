/** The audit's files: `brain/corpus/<day>.<chain>.jsonl`, and `<day>.jsonl` from older versions without chains. */
import { createReadStream } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../lib/errors.ts";
import { type AuditLine, type ChainHead, hashOfBytes, parseLine } from "./line.ts";

export interface AuditFile {
  name: string;
  /** `2026-11-22`, UTC. */
  day: string;
  chain: string | undefined;
}

const namePattern = /^(\d{4}-\d\d-\d\d)(?:\.([a-z0-9-]+))?\.jsonl$/;
const lineEnd = 10;
const tailBytes = 64 * 1024;

/** In the agent's workspace. */
export function auditFolderOf(workspace: string): string {
  return join(workspace, "brain", "corpus");
}

export function fileName(day: string, chain: string): string {
  return `${day}.${chain}.jsonl`;
}

export async function listAuditFiles(folder: string): Promise<AuditFile[]> {
  const names = await readdir(folder).catch(ifMissing([]));
  return names.toSorted().flatMap((name) => {
    const [, day, chain] = namePattern.exec(name) ?? [];
    return day === undefined ? [] : [{ name, day, chain }];
  });
}

/** Undefined if another process has removed the file meanwhile, because its retention is over. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  return await reading.catch(ifMissing(undefined));
}

/** Yields lines without their line breaks. Bytes after the last line break come last, with `isTorn`. */
export async function* linesOf(path: string): AsyncGenerator<{ bytes: Buffer; isTorn: boolean }> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
      yield { bytes: Buffer.concat([rest, chunk.subarray(start, end)]), isTorn: false };
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = Buffer.concat([rest, chunk.subarray(start)]);
  }
  if (rest.length > 0) yield { bytes: rest, isTorn: true };
}

export interface FileEnd {
  last?: ChainHead;
  torn?: string;
}

export async function endOfFile(path: string): Promise<FileEnd> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    for (let length = tailBytes; ; length *= 4) {
      const start = Math.max(0, size - length);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
      const bytes = buffer.subarray(0, bytesRead);
      const end = bytes.lastIndexOf(lineEnd);
      const before = end <= 0 ? -1 : bytes.lastIndexOf(lineEnd, end - 1);
      if (start > 0 && before === -1) continue;
      const line = end === -1 ? undefined : bytes.subarray(before + 1, end);
      const torn = bytes.subarray(end + 1);
      const sequence = line === undefined ? undefined : parseLine(line.toString())?.sequence;
      return {
        ...(line === undefined || sequence === undefined ? {} : { last: { sequence, hash: hashOfBytes(line) } }),
        ...(torn.length === 0 ? {} : { torn: hashOfBytes(torn) }),
      };
    }
  } finally {
    await handle.close();
  }
}

export async function firstLine(folder: string, { name }: AuditFile): Promise<AuditLine | undefined> {
  for await (const { bytes, isTorn } of linesOf(join(folder, name)))
    return isTorn ? undefined : parseLine(bytes.toString());
  return undefined;
}
