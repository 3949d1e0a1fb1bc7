/** What the retention removes, and the line that says so: with it `verify` accepts that exactly these lines are missing. */
import { join } from "node:path";
import { hashOfFile } from "./chain-start.ts";
import { type AuditFile, endOfFile, listAuditFiles } from "./files.ts";
import type { ChainHead } from "./line.ts";

export const pruneEvent = "audit.pruned";

/** The chain is gone up to this line. `hash` alone: a file from before there were chains. */
export type PrunedFile = ({ file: string; chain: string } & ChainHead) | { file: string; hash: string };

/** Of days before `oldest`. */
export async function expiredFiles(folder: string, oldest: string): Promise<AuditFile[]> {
  return (await listAuditFiles(folder)).filter(({ day }) => day < oldest);
}

export async function describePruning(folder: string, files: AuditFile[]): Promise<PrunedFile[]> {
  return await Promise.all(
    files.map(async ({ name: file, chain }) => {
      const path = join(folder, file);
      if (chain === undefined) return { file, hash: await hashOfFile(path) };
      const { last = { sequence: 0, hash: "" } } = await endOfFile(path);
      return { file, chain, ...last };
    }),
  );
}
