/**
 * One Markdown file a day and scope, in parts: `2026-11-21.md`, then `2026-11-21.2.md` once the first one is big, so that
 * adding an entry costs the same however much was said that day.
 *
 * A change reads, edits and replaces one part as one step; changes of one day happen one after the other. Those that
 * come while a day is being written wait together and are written together, in their order: a busy channel costs a few
 * writes, not one a turn. A part that people have made too big, or that is no UTF-8 text, is left as it is and the next
 * one is used.
 */
import { isUtf8 } from "node:buffer";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type PathOrder, writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import type { MemoryScope } from "../ports/message.ts";
import { dayOf, type MemoryKind, scopeFolder } from "./places.ts";

/** A part is begun when the one before has reached this size, in bytes. */
const partBytes = 64 * 1024;
/** What is bigger was not written by us, and is not read to be changed. */
const changeableBytes = 8 * 1024 * 1024;

interface DayChange {
  kind: MemoryKind;
  scope: MemoryScope;
  at: number;
  /** The entry that is written, and how to see which ones a text has: the part that has it already is edited, whatever its size. */
  entry?: { id: string; idsIn(text: string): Iterable<string> };
  /** `current` is empty for a part that is begun. */
  edit(current: string): string;
}

export interface DayFiles {
  /** Resolves to the absolute path of the part that was written. Rejects with a RemoraError, and nothing changed. */
  change(change: DayChange): Promise<string>;
}

/** A change that waits for its turn, and the promise that its caller has. */
interface Waiting {
  change: DayChange;
  resolve(path: string): void;
  reject(reason: RemoraError): void;
}

export function createDayFiles(workspace: string, inOrder: PathOrder): DayFiles {
  const closedParts = createIdCache();
  const waitingByDay = new Map<string, Waiting[]>();
  return {
    change(change) {
      const folder = scopeFolder(workspace, change.kind, change.scope);
      const day = dayOf(change.at);
      const key = join(folder, day);
      return new Promise((resolve, reject) => {
        const waiting = waitingByDay.get(key);
        if (waiting !== undefined) {
          waiting.push({ change, resolve, reject });
          return;
        }
        const together: Waiting[] = [{ change, resolve, reject }];
        waitingByDay.set(key, together);
        inOrder(key, async () => {
          waitingByDay.delete(key);
          await writeTogether(folder, day, together, closedParts);
        }).catch((thrown: unknown) => {
          // It was not begun: another process keeps the day for too long, or whoever says so is away.
          if (waitingByDay.get(key) === together) waitingByDay.delete(key);
          for (const one of together) one.reject(asMemoryError(thrown, folder));
        });
      });
    },
  };
}

/** Settles every change that it is given; never rejects. */
async function writeTogether(
  folder: string,
  day: string,
  together: readonly Waiting[],
  closedParts: IdCache,
): Promise<void> {
  const edited = new Map<string, Edited>();
  let parts: string[] | undefined;
  for (const one of together) {
    try {
      parts ??= (await listDayFiles(folder)).filter((path) => dayOfFile(path) === day);
      const { path, text, before = text } = await partFor(join(folder, day), parts, one.change, closedParts, edited);
      const after = one.change.edit(text);
      edited.set(path, { before, text: after, changes: [...(edited.get(path)?.changes ?? []), one] });
      if (!parts.includes(path)) parts.push(path);
    } catch (thrown) {
      one.reject(asMemoryError(thrown, folder));
    }
  }
  for (const [path, { before, text, changes }] of edited) {
    try {
      if (text !== before) await writeFileAtomic(path, text);
      for (const one of changes) one.resolve(path);
    } catch (thrown) {
      for (const one of changes) one.reject(asMemoryError(thrown, folder));
    }
  }
}

/** A part with the changes that are not yet on disk, and whose they are. */
interface Edited {
  before: string;
  text: string;
  changes: Waiting[];
}

/** The day of a day file's name; undefined for other files. */
export function dayOfFile(name: string): string | undefined {
  return /^(\d{4}-\d\d-\d\d)(?:\.\d+)?\.md$/.exec(basename(name))?.[1];
}

/** The parts of all days in a folder, oldest first. */
export async function listDayFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((thrown) => {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return [];
    throw asMemoryError(thrown, folder);
  });
  return names
    .filter((name) => dayOfFile(name) !== undefined)
    .sort((one, other) => partKey(one).localeCompare(partKey(other), "en"))
    .map((name) => join(folder, name));
}

/** The text of a file that we may rewrite; undefined when it is too big, no text, or gone. */
export async function readChangeable(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined || !info.isFile() || info.size > changeableBytes) return undefined;
  const bytes = await readFile(path);
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

export function asMemoryError(thrown: unknown, place: string): RemoraError {
  if (thrown instanceof RemoraError) return thrown;
  const isFull = codeOf(thrown) === "ENOSPC" || codeOf(thrown) === "EDQUOT";
  return new RemoraError({
    code: isFull ? "memory.full" : "memory.unwritable",
    place: `memory ${place}`,
    message: isFull
      ? `could not be written because the disk is full (${messageOf(thrown)}). Free some space; nothing half-written was kept.`
      : `could not be read or written (${messageOf(thrown)}). Check that the folder exists and that this user may write it; nothing half-written was kept.`,
    isRetryable: isFull,
    cause: thrown,
  });
}

async function partFor(
  start: string,
  parts: readonly string[],
  { entry }: DayChange,
  closedParts: IdCache,
  edited: ReadonlyMap<string, Edited>,
): Promise<Part> {
  const read = async (path: string): Promise<Omit<Part, "path"> | undefined> => {
    const text = edited.has(path) ? undefined : await readChangeable(path);
    return edited.get(path) ?? (text === undefined ? undefined : { text });
  };
  const [last, earlier] = [parts.at(-1), parts.slice(0, -1)];
  if (last === undefined) return { path: `${start}.md`, text: "" };
  const found = await read(last);
  const isIn = (text: string | undefined) =>
    text !== undefined && entry !== undefined && new Set(entry.idsIn(text)).has(entry.id);
  const isInLast = isIn(found?.text);
  for (const path of isInLast ? [] : earlier) {
    if (entry === undefined) break;
    // One that is being edited may just have been filled; what is known of it from the disk would be out of date.
    const mine = edited.get(path);
    if (!(mine === undefined ? await closedParts.has(path, entry) : isIn(mine.text))) continue;
    const part = await read(path);
    if (part !== undefined) return { ...part, path };
  }
  if (found !== undefined && (isInLast || found.text.length < partBytes)) return { ...found, path: last };
  return { path: `${start}.${partNumber(last) + 1}.md`, text: "" };
}

interface Part {
  path: string;
  text: string;
  /** What is on disk, where that differs from `text`. */
  before?: string;
}

interface IdCache {
  has(path: string, entry: NonNullable<DayChange["entry"]>): Promise<boolean>;
}

/**
 * Which entries the parts have that are written no more, so that they need not be read for every turn of a busy day. What
 * people take out of such a part meanwhile is still thought to be there; then its turn is written there again.
 */
function createIdCache(): IdCache {
  const most = 200;
  const known = new Map<string, Set<string>>();
  return {
    async has(path, entry) {
      const ids = known.get(path) ?? new Set(entry.idsIn((await readChangeable(path)) ?? ""));
      known.delete(path);
      known.set(path, ids);
      const [oldest] = known.keys();
      if (known.size > most && oldest !== undefined) known.delete(oldest);
      return ids.has(entry.id);
    },
  };
}

function partNumber(path: string): number {
  return Number(/\.(\d+)\.md$/.exec(path)?.[1] ?? 1);
}

function partKey(name: string): string {
  return `${dayOfFile(name) ?? ""} ${String(partNumber(name)).padStart(9, "0")}`;
}
