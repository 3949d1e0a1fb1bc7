/**
 * Remembers in the data folder that a process runs. The file is removed when it stops, so one that is left over means that
 * the process was killed, crashed, or lost its power.
 */
import { rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const schema = z.object({ pid: z.number(), startedAt: z.number(), url: z.string().default("") });
export type Run = z.infer<typeof schema>;

const fileIn = (folder: string) => join(folder, "running.json");

export async function readRun(folder: string): Promise<Run | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(fileIn(folder), "utf8")));
  } catch {
    return undefined;
  }
}

/** A full disk must not prevent the start. */
export function markRun(folder: string, run: Run): void {
  try {
    writeFileSync(fileIn(folder), `${JSON.stringify(run)}\n`);
  } catch {
    // The other checks report it.
  }
}

export function unmarkRun(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}
