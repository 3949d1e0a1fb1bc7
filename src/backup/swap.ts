/**
 * Puts unpacked folders in force, all or none. What was there is moved aside, never deleted:
 *
 *   1. everything is unpacked and checked beside its place, in `.remora-restore`
 *   2. a journal with every rename is written to the data folder; from now on the restore is decided
 *   3. the renames, each of which can be repeated
 *   4. the journal is removed
 *
 * A process that dies before step 2 has changed nothing. After it, the next start finishes the work before it opens
 * anything. Contents are moved, not the folders themselves, because a container mounts those.
 */
import { existsSync, lstatSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { ifMissing } from "../lib/errors.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { asidePrefix, stagingName } from "./left-out.ts";
import { namesIn } from "./names-in.ts";

const journalSchema = z.object({
  steps: z.array(z.object({ from: z.string(), to: z.string() })),
  staging: z.array(z.string()),
  /** The keys of a restored Redis still have to get their names. */
  isRedisStaged: z.boolean(),
});
type Journal = z.infer<typeof journalSchema>;

/** Stay where they are: the lock of the running command, and restores. */
const staying = /^(?:process\.(?:db|pid)(?:-.*)?|\.remora-restore)$/;

export interface SwapPlan {
  journal: Journal;
  /** Where the old content goes; empty if there was none. */
  aside: string[];
}

/** `folders` have their new content in `.remora-restore/new`. `files` are single files, such as the configuration. */
export async function planSwap(options: {
  folders: string[];
  files: { from: string; to: string }[];
  stamp: string;
  isRedisStaged: boolean;
}): Promise<SwapPlan> {
  const { folders, files, stamp, isRedisStaged } = options;
  const steps: Journal["steps"] = [];
  const aside: string[] = [];
  for (const folder of folders) {
    const away = join(folder, `${asidePrefix}${stamp}`);
    const old = (await namesIn(folder)).filter((name) => !staying.test(name) && !name.startsWith(asidePrefix));
    if (old.length > 0) aside.push(away);
    steps.push(...old.map((name) => ({ from: join(folder, name), to: join(away, name) })));
    const unpacked = join(folder, stagingName, "new");
    const names = await namesIn(unpacked);
    steps.push(...names.map((name) => ({ from: join(unpacked, name), to: join(folder, name) })));
  }
  for (const { from, to } of files) {
    if (isThere(to)) {
      if (existsSync(to) && (await readFile(from)).equals(await readFile(to))) continue;
      aside.push(`${to}.${asidePrefix}${stamp}`);
      steps.push({ from: to, to: `${to}.${asidePrefix}${stamp}` });
    }
    steps.push({ from, to });
  }
  return { journal: { steps, staging: folders.map((folder) => join(folder, stagingName)), isRedisStaged }, aside };
}

export async function decideSwap(data: string, { journal }: SwapPlan): Promise<void> {
  await writeFileAtomic(journalFile(data), JSON.stringify(journal));
  await syncFolder(dirname(journalFile(data)));
}

export function hasUnfinishedRestore(data: string): boolean {
  return existsSync(journalFile(data));
}

/** Does nothing without a journal. `nameRedisKeys` must be repeatable. */
export async function finishSwap(data: string, nameRedisKeys: () => Promise<void>): Promise<boolean> {
  const text = await readFile(journalFile(data), "utf8").catch(ifMissing(undefined));
  if (text === undefined) return false;
  const { steps, staging, isRedisStaged } = journalSchema.parse(JSON.parse(text));
  const changed = new Set<string>();
  for (const { from, to } of steps) {
    // Done before: a step's target exists only after the step.
    if (isThere(to) || !isThere(from)) continue;
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(from, to);
    changed.add(dirname(to));
  }
  for (const folder of changed) await syncFolder(folder);
  if (isRedisStaged) await nameRedisKeys();
  await rm(journalFile(data));
  for (const folder of staging) await rm(folder, { recursive: true, force: true });
  return true;
}

/** Also true for a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function journalFile(data: string): string {
  return join(data, stagingName, "journal.json");
}
