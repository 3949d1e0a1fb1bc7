/** The first line of a chain names the ends (including torn lines) of earlier chains that no other chain has named. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type AuditFile, endOfFile, firstLine, listAuditFiles, unlessGone } from "./files.ts";
import type { ChainHead } from "./line.ts";

export interface EarlierChain extends ChainHead {
  chain: string;
  torn?: string;
}

export interface ChainStart {
  after: EarlierChain[];
  unchained?: { file: string; hash: string }[];
}

const maxTries = 5;

export const startEvent = "audit.started";

/** Tries again if another process removes expired files meanwhile. */
export async function describeStart(folder: string): Promise<ChainStart> {
  for (let tries = 1; tries < maxTries; tries++) {
    const start = await unlessGone(describe(folder));
    if (start !== undefined) return start;
  }
  return await describe(folder);
}

async function describe(folder: string): Promise<ChainStart> {
  const files = await listAuditFiles(folder);
  const chains = Map.groupBy(files, ({ chain }) => chain);
  const named = new Set<string>();
  const ends: EarlierChain[] = [];
  for (const [chain, ofChain] of chains) {
    if (chain === undefined) continue;
    for (const { chain: earlier, sequence, torn } of await readStart(folder, ofChain))
      named.add(`${earlier} ${sequence} ${torn}`);
    const end = await readEnd(folder, chain, ofChain);
    if (end !== undefined) ends.push(end);
  }
  const unchained = await Promise.all(
    (chains.get(undefined) ?? []).map(async ({ name }) => ({ file: name, hash: await hashOfFile(join(folder, name)) })),
  );
  return {
    after: ends.filter(({ chain, sequence, torn }) => !named.has(`${chain} ${sequence} ${torn}`)),
    ...(unchained.length === 0 ? {} : { unchained }),
  };
}

async function readStart(folder: string, [first]: AuditFile[]): Promise<EarlierChain[]> {
  const line = first === undefined ? undefined : await firstLine(folder, first);
  return line?.event === startEvent && Array.isArray(line.after) ? (line.after as EarlierChain[]) : [];
}

/** Finds the chain's last complete line. Only the newest file can contain a torn line. */
async function readEnd(folder: string, chain: string, files: AuditFile[]): Promise<EarlierChain | undefined> {
  let torn: string | undefined;
  for (const { name } of files.toReversed()) {
    const end = await endOfFile(join(folder, name));
    torn ??= end.torn;
    if (end.last !== undefined) return { chain, ...end.last, ...(torn === undefined ? {} : { torn }) };
  }
  return torn === undefined ? undefined : { chain, sequence: 0, hash: "", torn };
}

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
