/** Stores the head (last line) of each chain in the data folder, to detect missing lines at its end. */
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../lib/errors.ts";
import { parseJson } from "../lib/json.ts";
import type { EarlierChain } from "./chain-start.ts";

export function headsFolderOf(data: string): string {
  return join(data, "audit");
}

function headFile(folder: string, chain: string): string {
  return join(folder, `${chain}.json`);
}

/** Only the chain's own process may write this file. */
export async function openHeadFile(folder: string, chain: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await open(headFile(folder, chain), "w", 0o600);
}

export async function readHeads(folder: string): Promise<EarlierChain[]> {
  const names = await readdir(folder).catch(ifMissing([]));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => {
    const head = parseJson(text) as EarlierChain | null | undefined;
    return Number.isSafeInteger(head?.sequence) && typeof head?.hash === "string" ? [head] : [];
  });
}

/** Removes heads last written before `oldest` (ms), because retention has removed their chains. Keeps `own`. */
export async function pruneHeads(folder: string, own: string, oldest: number): Promise<void> {
  for (const { chain } of await readHeads(folder)) {
    if (chain === own) continue;
    const path = headFile(folder, chain);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { force: true });
  }
}
