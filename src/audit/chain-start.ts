/**
 * What the first line of a chain says about those before it: where each of them ended, as far as this folder shows, and what
 * a crash left behind its last whole line. Chains that an earlier start has named at their end are not named again.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type AuditFile, endOfFile, firstLine, listAuditFiles } from "./files.ts";
import type { ChainHead } from "./line.ts";

export interface EarlierChain extends ChainHead {
  chain: string;
  /** SHA-256 of an unfinished line at its end. */
  torn?: string;
}

export interface ChainStart {
  after: EarlierChain[];
  /** Files from before there were chains. */
  unchained?: { file: string; hash: string }[];
}

export const startEvent = "audit.started";

export async function describeStart(folder: string): Promise<ChainStart> {
  const files = await listAuditFiles(folder);
  const chains = Map.groupBy(files, ({ chain }) => chain);
  const named = new Set<string>();
  const ends: EarlierChain[] = [];
  for (const [chain, ofChain] of chains) {
    if (chain === undefined) continue;
    for (const { chain: earlier, sequence, torn } of await startOf(folder, ofChain))
      named.add(`${earlier} ${sequence} ${torn}`);
    const end = await endOf(folder, chain, ofChain);
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

async function startOf(folder: string, [first]: AuditFile[]): Promise<EarlierChain[]> {
  const line = first === undefined ? undefined : await firstLine(folder, first);
  return line?.event === startEvent && Array.isArray(line.after) ? (line.after as EarlierChain[]) : [];
}

/** The newest file with a whole line; what is torn is in the newest file. */
async function endOf(folder: string, chain: string, files: AuditFile[]): Promise<EarlierChain | undefined> {
  let torn: string | undefined;
  for (const { name } of files.toReversed()) {
    const end = await endOfFile(join(folder, name));
    torn ??= end.torn;
    if (end.last !== undefined) return { chain, ...end.last, ...(torn === undefined ? {} : { torn }) };
  }
  // It was cut off in its very first line.
  return torn === undefined ? undefined : { chain, sequence: 0, hash: "", torn };
}

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
