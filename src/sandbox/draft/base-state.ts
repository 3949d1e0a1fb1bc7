/** What the real files were like when a draft touched them first, so that a change by somebody else is noticed before keeping. */
import { readFile } from "node:fs/promises";
import { writeFileAtomic } from "../../core/atomic-file.ts";
import { codeOf } from "../../core/errors.ts";
import { type BaseStamps, findChangedBase, stampBase } from "../effects/base-stamps.ts";
import type { MergePlan } from "../effects/merge-entry.ts";
import type { RawPath } from "../effects/raw-path.ts";

const never = new AbortController().signal;

/** Adds the paths of the plan that the draft has not touched before. Call it before the plan is applied. */
export async function noteBase(file: string, folder: string, plan: MergePlan): Promise<void> {
  const known = await readStamps(file);
  const paths = new Set(known.map(({ path }) => path));
  const missing = plan.entries.map(({ path }) => path).filter((path) => !paths.has(path));
  if (missing.length === 0) return;
  const stamps = [...known, ...(await stampBase(folder, missing, never))];
  await writeFileAtomic(file, JSON.stringify(stamps));
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
