/**
 * Remembers in the data folder that a process runs. The file is removed when it stops, so one that is left over means that
 * the process was killed, crashed, or lost its power.
 */
import { rmSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isProcessAlive } from "../lib/is-process-alive.ts";

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

/** Of all processes of an installation. With Redis, each has a folder of its own, such as `process-0`. */
export async function readRuns(data: string): Promise<Run[]> {
  const names = await readdir(data).catch(() => []);
  const folders = names.filter((name) => /^process-\d+$/.test(name)).toSorted();
  const runs = await Promise.all([data, ...folders.map((name) => join(data, name))].map(readRun));
  return runs.filter((run) => run !== undefined);
}

export function isAlive({ pid }: Run): boolean {
  return isProcessAlive(pid);
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
