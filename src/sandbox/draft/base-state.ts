/** What the real files were like when a draft touched them first, so that a change by somebody else is noticed before keeping. */
import { readFile, stat } from "node:fs/promises";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { codeOf } from "../../lib/errors.ts";
import { type BaseStamps, findChangedBase, stampBase } from "../effects/base-stamps.ts";
import type { EntryStamp } from "../effects/entry-state.ts";
import type { MergePlan } from "../effects/merge-entry.ts";
import type { RawPath } from "../effects/raw-path.ts";

const never = new AbortController().signal;

/** The time of the file system's own clock, in nanoseconds, for a folder that was made just now. */
export async function clockOf(folder: string): Promise<string> {
  return String((await stat(folder, { bigint: true })).ctimeNs);
}

/**
 * Adds the paths of the plan that the draft has not touched before. Call it before the plan is applied. `since` is from
 * `clockOf`, before the call's view was opened: nobody knows which state of a later file the call has seen, so such a file
 * counts as changed by somebody else.
 */
export async function noteBase(file: string, folder: string, plan: MergePlan, since: string): Promise<void> {
  const known = await readStamps(file);
  const paths = new Set(known.map(({ path }) => path));
  const missing = plan.entries.map(({ path }) => path).filter((path) => !paths.has(path));
  if (missing.length === 0) return;
  const found = await stampBase(folder, missing, never);
  const stamps = found.map(({ path, stamp }) => ({ path, stamp: isLater(stamp, since) ? null : stamp }));
  await writeFileAtomic(file, JSON.stringify([...known, ...stamps]));
}

/** Folders have no time of change here. */
function isLater(stamp: EntryStamp | null, since: string): boolean {
  return stamp !== null && BigInt(stamp.ctimeNs) > BigInt(since);
}

/** The touched paths that somebody else has changed since. */
export async function changedSinceNoted(file: string, folder: string): Promise<RawPath[]> {
  return await findChangedBase(folder, await readStamps(file), never);
}

export async function readStamps(file: string): Promise<BaseStamps> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as BaseStamps;
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return [];
    throw thrown;
  }
}
