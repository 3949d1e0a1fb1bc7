/**
 * Checks each chain (verify-chain.ts), then its end against the saved head and the first lines of later chains. Accepts
 * missing lines only if a retention line names them and they were old enough. Anyone who can write all files can forge
 * the entire audit, so export it to another machine if that matters.
 */
import { basename, join } from "node:path";
import { type ChainStart, type EarlierChain, hashOfFile, startEvent } from "./chain-start.ts";
import { type AuditFile, linesOf, listAuditFiles } from "./files.ts";
import { readHeads } from "./heads.ts";
import { type AuditLine, hashOfBytes, parseLine } from "./line.ts";
import { areDaysApart, isPlausible, type PrunedFile, pruneEvent } from "./prune.ts";
import { type ChainProblem, type SeenLine, verifyChain } from "./verify-chain.ts";

export interface AuditReport {
  chains: number;
  lines: number;
  problems: ChainProblem[];
  notes: string[];
}

interface SeenChain {
  files: AuditFile[];
  lines: Map<number, { hash: string; file: string; line: number }>;
  lastSequence: number;
  torn: { hash: string; file: string; line: number } | undefined;
}

interface Claims {
  starts: { start: ChainStart; file: string; line: number }[];
  pruned: PrunedFile[];
}

export async function verifyAudit(options: { folder: string; headsFolder: string }): Promise<AuditReport> {
  // Read the heads before the files, because a running process writes a line before its head.
  const heads = await readHeads(options.headsFolder);
  const files = await listAuditFiles(options.folder);
  const report: AuditReport = { chains: 0, lines: 0, problems: [], notes: [] };
  const claims: Claims = { starts: [], pruned: [] };
  const read = new Map<string, SeenLine[]>();
  const chains = new Map<string, SeenChain>();
  const byChain = Map.groupBy(files, ({ chain }) => chain);
  for (const [chain, ofChain] of byChain) {
    if (chain === undefined) continue;
    const seen = await readChain(options.folder, ofChain, claims, report);
    read.set(chain, seen.lines);
    chains.set(chain, seen.chain);
  }
  // Verify only after reading all chains, because retention lines in one chain name other chains.
  for (const [chain, lines] of read) report.problems.push(...verifyChain(chain, lines, prunedEnds(claims, chain)));
  for (const head of heads) checkEnd(head, "the data folder names", chains, claims, report);
  for (const { start, file, line } of claims.starts)
    for (const end of start.after) checkEnd(end, `line ${line} of ${file} names`, chains, claims, report);
  for (const [chain, seen] of chains) checkTorn(chain, seen, claims, report);
  // Read the heads again: a running process may have saved heads of lines that were read above.
  for (const head of await readHeads(options.headsFolder)) checkAdded(head, chains, claims, report);
  await checkUnchained(options.folder, byChain.get(undefined) ?? [], claims, report);
  report.chains = chains.size;
  return report;
}

async function readChain(folder: string, files: AuditFile[], claims: Claims, report: AuditReport) {
  const lines: SeenLine[] = [];
  const chain: SeenChain = { files, lines: new Map(), lastSequence: 0, torn: undefined };
  for (const [index, { name, day }] of files.entries()) {
    let number = 0;
    for await (const { bytes, isTorn } of linesOf(join(folder, name))) {
      number++;
      const hash = hashOfBytes(bytes);
      if (isTorn) {
        if (index === files.length - 1) chain.torn = { hash, file: name, line: number };
        else
          report.problems.push({
            file: name,
            line: number,
            kind: "changed",
            message: "the end of this line is missing",
          });
        continue;
      }
      report.lines++;
      const line = parseLine(bytes.toString());
      const head = line && { chain: line.chain, sequence: line.sequence, prev: line.prev };
      lines.push({ file: name, line: number, hash, head });
      if (line === undefined) continue;
      if (number === 1 && areDaysApart(line.at, day)) {
        const message = `the file was renamed: its first line is from ${line.at.slice(0, 10)}`;
        report.problems.push({ file: name, line: 0, kind: "reordered", message });
      }
      chain.lines.set(line.sequence, { hash, file: name, line: number });
      chain.lastSequence = Math.max(chain.lastSequence, line.sequence);
      noteClaims(line, name, number, claims);
    }
  }
  return { lines, chain };
}

function noteClaims(line: AuditLine, file: string, number: number, claims: Claims): void {
  if (line.event === startEvent && Array.isArray(line.after))
    claims.starts.push({ start: line as unknown as ChainStart, file, line: number });
  if (line.event === pruneEvent && Array.isArray(line.files))
    claims.pruned.push(...(line.files as PrunedFile[]).filter((pruned) => isPlausible(pruned, line.at)));
}

function prunedEnds({ pruned }: Claims, wanted: string) {
  return pruned.flatMap((end) => ("chain" in end && end.chain === wanted ? [end] : []));
}

function checkEnd(
  { chain, sequence, hash }: EarlierChain,
  who: string,
  chains: Map<string, SeenChain>,
  claims: Claims,
  { problems }: AuditReport,
): void {
  const seen = chains.get(chain);
  const found = seen?.lines.get(sequence);
  if (sequence === 0 || found?.hash === hash) return;
  const isPruned = prunedEnds(claims, chain).some((end) => end.sequence >= sequence);
  if (isPruned) return;
  if (found !== undefined) {
    problems.push({ file: found.file, line: found.line, kind: "changed", message: `this is not the line that ${who}` });
    return;
  }
  const file = seen?.files.at(-1)?.name ?? `*.${chain}.jsonl`;
  const last = seen === undefined ? "the whole chain is missing" : `its last line is number ${seen.lastSequence}`;
  const message = `line number ${sequence} of chain ${chain}, which ${who}, is missing: ${last}`;
  problems.push({ file, line: 0, kind: "deleted", message });
}

/** Reports lines added after the end that a later chain names. They are forged, because the process had ended. */
function checkAdded(
  head: EarlierChain,
  chains: Map<string, SeenChain>,
  { starts }: Claims,
  { problems }: AuditReport,
): void {
  const seen = chains.get(head.chain);
  const ends = starts.flatMap(({ start }) => start.after.filter(({ chain }) => chain === head.chain));
  const end = Math.max(...ends.map(({ sequence }) => sequence));
  if (seen === undefined || ends.length === 0 || head.sequence > end) return;
  const first = seen.lines.get(end + 1);
  if (first === undefined) return;
  const message = `the chain had already ended at number ${end}`;
  problems.push({ file: first.file, line: first.line, kind: "added", message });
}

/** A crash can leave a torn line, which the next chain names. If none does, a process may still be writing the line. */
function checkTorn(chain: string, { torn }: SeenChain, { starts }: Claims, report: AuditReport): void {
  if (torn === undefined) return;
  const { file, line, hash } = torn;
  const ends = starts.flatMap(({ start }) => start.after.filter((end) => end.chain === chain));
  if (ends.some((end) => end.torn === hash)) {
    report.notes.push(`${file}:${line} was cut off by a crash, as the next start recorded.`);
  } else if (ends.length === 0) {
    report.notes.push(
      `${file}:${line} is incomplete: it is still being written, or was cut off. The next start records it.`,
    );
  } else {
    const message = "the text after the last whole line is not what the next start recorded";
    report.problems.push({ file, line, kind: "changed", message });
  }
}

async function checkUnchained(folder: string, files: AuditFile[], claims: Claims, report: AuditReport): Promise<void> {
  const named = new Map(
    claims.starts.flatMap(({ start }) => start.unchained ?? []).map(({ file, hash }) => [file, hash]),
  );
  const pruned = new Set(claims.pruned.map(({ file }) => file));
  for (const { name } of files) {
    const hash = named.get(name);
    if (hash === undefined) report.notes.push(`${name} was written before the audit had chains, and can't be checked.`);
    else if ((await hashOfFile(join(folder, name))) !== hash)
      report.problems.push({
        file: name,
        line: 0,
        kind: "changed",
        message: "the file has changed since the first start with chains",
      });
  }
  const there = new Set(files.map(({ name }) => name));
  for (const name of named.keys())
    if (!there.has(name) && !pruned.has(name))
      report.problems.push({ file: basename(name), line: 0, kind: "deleted", message: "the file is missing" });
}
