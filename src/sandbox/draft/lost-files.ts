/** What changes would lose: files that they delete, or of which they leave next to nothing. Losing many always asks. */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Effect, Effects } from "../effects/effect.ts";
import { decodePath, type RawPath } from "../effects/raw-path.ts";

export const maxLostUnasked = 20;
/** Of a file that keeps no more than one part in so many, the content counts as lost. */
const partKeptOnCards = 10;
/** Stricter, because nobody looks at what a grant covers. */
const partKeptUnderGrant = 2;
/** Would make every loss look small, and nobody thinks of them as the folder's files. */
const uncounted = new Set([".git", "node_modules"]);

type Sizes = Readonly<Record<RawPath, number>>;

export function lostFiles({ effects }: Pick<Effects, "effects">): RawPath[] {
  return effects.filter((effect) => isLost(effect, partKeptOnCards)).map(({ raw }) => raw);
}

/** `first` holds the sizes that files had before they shrank in earlier steps. */
export function lostUnderGrant({ effects }: Pick<Effects, "effects">, first: Sizes = {}): RawPath[] {
  const sizeOf = ({ raw, previousBytes }: Effect) =>
    Math.max(previousBytes, Object.hasOwn(first, raw) ? (first[raw] ?? 0) : 0);
  const isGone = (effect: Effect) =>
    isLost({ ...effect, previousBytes: sizeOf(effect) }, partKeptUnderGrant) ||
    (effect.action === "changed" && effect.losesText === true);
  return effects.filter(isGone).map(({ raw }) => raw);
}

/** The sizes before these changes of the files that they shorten, so that many small steps count as one. */
export function shrunkSizes({ effects }: Pick<Effects, "effects">): Record<RawPath, number> {
  const shrunk = effects.filter(({ action, bytes, previousBytes }) => action === "changed" && bytes < previousBytes);
  return Object.fromEntries(shrunk.map(({ raw, previousBytes }) => [raw, previousBytes]));
}

function isLost({ action, type, previousType, bytes, previousBytes }: Effect, partKept: number): boolean {
  if (action === "deleted") return type !== "folder";
  if (action === "added" || (previousType ?? type) !== "file" || previousBytes === 0) return false;
  return type !== "file" || bytes <= 1 || bytes * partKept <= previousBytes;
}

interface LossOptions {
  /** Half of any folder counts, not only half of the working folder. */
  isEachFolder: boolean;
  /** What was lost before without asking, and counts too. */
  before?: readonly RawPath[];
}

/** Why losing these files must be approved, or undefined. */
export async function lossProblem(
  folder: string,
  lost: readonly RawPath[],
  { isEachFolder, before = [] }: LossOptions,
): Promise<string | undefined> {
  const all = [...new Set([...before, ...lost])];
  const subject = before.length === 0 ? "This" : "With what was deleted before without asking, this";
  if (lost.length === 0) return undefined;
  if (all.length > maxLostUnasked) return `${subject} deletes or empties more than ${maxLostUnasked} files.`;
  const gone = new Set<RawPath>();
  for (const path of before) if (!(await isThere(folder, path))) gone.add(path);
  for (const part of isEachFolder ? new Set(lost.flatMap(foldersAbove)) : [""]) {
    const isInside = (path: RawPath) => part === "" || path.startsWith(`${part}/`);
    const count = all.filter(isInside).length;
    if (count <= 1) continue;
    const files = await countFiles(placeOf(folder, part), count * 2);
    if (count * 2 <= files + [...gone].filter(isInside).length) continue;
    return `${subject} deletes or empties more than half of ${part === "" ? "the folder" : `the folder ${part}`}.`;
  }
  return undefined;
}

/** Counts up to a maximum so that a large folder does not take long. An unreadable folder counts as empty. */
export async function countFiles(folder: string, max: number): Promise<number> {
  let count = 0;
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && count <= max; next = folders.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      if (entry.isDirectory()) {
        if (!uncounted.has(entry.name)) folders.push(`${next}/${entry.name}`);
      } else count += 1;
      if (count > max) break;
    }
  }
  return count;
}

async function isThere(folder: string, path: RawPath): Promise<boolean> {
  return (await lstat(placeOf(folder, path)).catch(() => undefined)) !== undefined;
}

/** A name that is not UTF-8 is not found, and then its folder counts as empty. */
function placeOf(folder: string, path: RawPath): string {
  return path === "" ? folder : join(folder, ...decodePath(path).map((name) => name.toString("utf8")));
}

/** The working folder itself is `""`. */
function foldersAbove(path: RawPath): RawPath[] {
  const parts = path.split("/");
  return parts.map((_, depth) => parts.slice(0, depth).join("/"));
}
