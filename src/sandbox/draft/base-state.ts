/** Records the state of real files when a draft first touches them, to detect later changes by others. */
import { readFile, stat } from "node:fs/promises";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { ifMissing } from "../../lib/errors.ts";
import { never } from "../../lib/never.ts";
import { type BaseStamps, findChangedBase, stampBase } from "../effects/base-stamps.ts";
import type { EntryStamp } from "../effects/entry-state.ts";
import type { MergePlan } from "../effects/merge-entry.ts";
import type { RawPath } from "../effects/raw-path.ts";

/** Reads the file system's clock, in nanoseconds, from the ctime of a new folder. */
export async function fileSystemTime(folder: string): Promise<string> {
  return String((await stat(folder, { bigint: true })).ctimeNs);
}

/** Must run before the plan is applied. Files that changed after `since` count as changed by others. */
export async function recordBaseStamps(file: string, folder: string, plan: MergePlan, since: string): Promise<void> {
  const known = await readStamps(file);
  const paths = new Set(known.map(({ path }) => path));
  const missing = plan.entries.map(({ path }) => path).filter((path) => !paths.has(path));
  if (missing.length === 0) return;
  const found = await stampBase(folder, missing, never);
  const stamps = found.map(({ path, stamp }) => ({ path, stamp: isLater(stamp, since) ? null : stamp }));
  await writeFileAtomic(file, JSON.stringify([...known, ...stamps]));
}

function isLater(stamp: EntryStamp | null, since: string): boolean {
  return stamp !== null && BigInt(stamp.ctimeNs) > BigInt(since);
}

export async function changedSinceRecorded(file: string, folder: string): Promise<RawPath[]> {
  return await findChangedBase(folder, await readStamps(file), never);
}

export async function readStamps(file: string): Promise<BaseStamps> {
  return JSON.parse(await readFile(file, "utf8").catch(ifMissing("[]"))) as BaseStamps;
}
