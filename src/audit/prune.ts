/** Finds expired audit files, and describes them in an audit line so that `verify` accepts exactly these gaps. */
import { join } from "node:path";
import { hashOfFile } from "./chain-start.ts";
import { type AuditFile, endOfFile, firstLine, listAuditFiles, unlessGone } from "./files.ts";
import { type ChainHead, chainStartedAt } from "./line.ts";

export const pruneEvent = "audit.pruned";
const dayMs = 86_400_000;

/** A removed file, with the chain's head at its end. Files from older versions have only a `hash`. */
export type PrunedFile = ({ file: string; chain: string } & ChainHead) | { file: string; hash: string };

/** Lists files whose name and content are both older than `oldest` so that renaming a file can't make it expire. */
export async function expiredFiles(folder: string, oldest: string): Promise<AuditFile[]> {
  const named = (await listAuditFiles(folder)).filter(({ day }) => day < oldest);
  const days = named.map(async (file) => ((await firstLine(folder, file))?.at ?? "").slice(0, 10));
  const found = await Promise.all(days.map(unlessGone));
  return named.filter((_file, index) => (found[index] ?? oldest) < oldest);
}

/** True if retention could have removed the file at that time (ISO 8601). It keeps files for at least a day. */
export function isPlausible(pruned: PrunedFile, at: string): boolean {
  const day = pruned.file.slice(0, 10);
  const startedAt = "chain" in pruned ? chainStartedAt(pruned.chain) : undefined;
  const isFromBeforeItsStart = startedAt !== undefined && areDaysApart(startedAt, day) && day < startedAt;
  return day < at.slice(0, 10) && !isFromBeforeItsStart;
}

/** True if the dates differ by more than a clock correction or a write around midnight can explain. */
export function areDaysApart(one: string, other: string): boolean {
  return Math.abs(Date.parse(one.slice(0, 10)) - Date.parse(other.slice(0, 10))) > dayMs;
}

/** Leaves out what another process has removed meanwhile, which has described it. */
export async function describePruning(folder: string, files: AuditFile[]): Promise<PrunedFile[]> {
  const described = files.map(async ({ name: file, chain }) => {
    const path = join(folder, file);
    if (chain === undefined) return { file, hash: await hashOfFile(path) };
    const { last = { sequence: 0, hash: "" } } = await endOfFile(path);
    return { file, chain, ...last };
  });
  return (await Promise.all(described.map(unlessGone))).filter((each) => each !== undefined);
}
