/**
 * One Markdown file per day and scope, in parts (`2026-11-21.md`, then `2026-11-21.2.md`) so that adding an entry is
 * fast even on busy days. Changes that arrive during a write are written together afterwards. A part that people made
 * too large, or that is not UTF-8, is left alone, and the next part is used.
 */
import { isUtf8 } from "node:buffer";
import { existsSync, readdirSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import type { FileOrder, OrderedFiles } from "../lib/file-order.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import { isLockLost } from "../lib/with-lock.ts";
import type { MemoryScope } from "../ports/message.ts";
import { type MemoryKind, scopeFolder } from "./places.ts";

const maxPartBytes = 64 * 1024;
/** Remora never writes larger files, so larger ones are not edited. */
export const maxEditableBytes = 8 * 1024 * 1024;

interface DayChange {
  kind: MemoryKind;
  scope: MemoryScope;
  at: number;
  /** The entry to write. A part that already contains it is edited, even if full. `idsIn` finds ids in a text. */
  entry?: { id: string; idsIn(text: string): Iterable<string> };
  /** Returns the new text of a part. `current` is empty if the part is new. */
  edit(current: string): string;
  /** What `edit` adds to the trimmed text of a part that is not empty and lacks the entry. Absent if it changes more. */
  addition?: string;
}

export interface DayFiles {
  /** Resolves to the absolute path of the written part. If it rejects (with a RemoraError), nothing has changed. */
  change(change: DayChange): Promise<string>;
}

interface Waiting {
  change: DayChange;
  resolve(path: string): void;
  reject(reason: RemoraError): void;
}

export function createDayFiles(workspace: string, inOrder: FileOrder): DayFiles {
  const closedParts = createIdCache();
  const waitingByDay = new Map<string, Set<Waiting>>();
  return {
    change(change) {
      const folder = scopeFolder(workspace, change.kind, change.scope);
      const day = toIsoDate(change.at);
      const key = join(folder, day);
      return new Promise((resolve, reject) => {
        const waiting = waitingByDay.get(key);
        if (waiting !== undefined) {
          waiting.add({ change, resolve, reject });
          return;
        }
        const together = new Set<Waiting>([{ change, resolve, reject }]);
        waitingByDay.set(key, together);
        inOrder(key, async (files) => {
          waitingByDay.delete(key);
          await writeTogether({ folder, day, closedParts, files }, together);
        }).catch((thrown: unknown) => {
          // Another process held the lock for too long or took it over, or the lock service is unreachable.
          if (waitingByDay.get(key) === together) waitingByDay.delete(key);
          for (const one of together) one.reject(asMemoryError(thrown, folder));
        });
      });
    },
  };
}

interface Place {
  folder: string;
  day: string;
  closedParts: IdCache;
  files: OrderedFiles;
}

/** Settles every change, and takes it from `together`. Rejects if the lock was lost, with the unsettled ones left. */
async function writeTogether({ folder, day, closedParts, files }: Place, together: Set<Waiting>): Promise<void> {
  const edited = new Map<string, Edited>();
  const refuse = (one: Waiting, thrown: unknown) => {
    one.reject(asMemoryError(thrown, folder));
    together.delete(one);
  };
  let parts: string[] | undefined;
  for (const one of together) {
    try {
      parts ??= (await listDayFiles(folder)).filter((path) => dayOfFile(path) === day);
      const { path, text, isIn } = await partFor(join(folder, day), parts, one.change, closedParts, edited);
      const open = edited.get(path);
      const { addition } = one.change;
      if (open === undefined) edited.set(path, { before: text, pieces: [one.change.edit(text)], changes: [one] });
      else {
        if (addition === undefined || isIn || open.pieces[0] === "")
          open.pieces = [one.change.edit(open.pieces.join(""))];
        else open.pieces.push(open.pieces.pop()?.trimEnd() ?? "", addition);
        open.changes.push(one);
      }
      if (!parts.includes(path)) parts.push(path);
    } catch (thrown) {
      refuse(one, thrown);
    }
  }
  for (const [path, { before, pieces, changes }] of edited) {
    const text = pieces.join("");
    try {
      if (text !== before) await files.write(path, text);
      for (const one of changes) {
        one.resolve(path);
        together.delete(one);
      }
    } catch (thrown) {
      if (isLockLost(thrown)) throw thrown;
      for (const one of changes) refuse(one, thrown);
    }
  }
}

interface Edited {
  before: string;
  /** Together the new text. In a burst, each entry would otherwise copy all the text before it. */
  pieces: string[];
  changes: Waiting[];
}

export function dayOfFile(name: string): string | undefined {
  return /^(\d{4}-\d\d-\d\d)(?:\.\d+)?\.md$/.exec(basename(name))?.[1];
}

/** Lists the parts of all days in a folder, oldest first. */
export async function listDayFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((thrown) => {
    if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return [];
    throw asMemoryError(thrown, folder);
  });
  return inOrderOfDays(folder, names);
}

/** Like `listDayFiles`, but blocks. */
export function listDayFilesSync(folder: string): string[] {
  return existsSync(folder) ? inOrderOfDays(folder, readdirSync(folder)) : [];
}

function inOrderOfDays(folder: string, names: readonly string[]): string[] {
  return names
    .filter((name) => dayOfFile(name) !== undefined)
    .sort((one, other) => partKey(one).localeCompare(partKey(other), "en"))
    .map((name) => join(folder, name));
}

export async function readEditable(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined || !info.isFile() || info.size > maxEditableBytes) return undefined;
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
      ? `could not be written because the disk is full (${messageOf(thrown)}). Free some space. The file is unchanged.`
      : `could not be read or written (${messageOf(thrown)}). Check that the folder exists and that this user may write to it. The file is unchanged.`,
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
  const read = async (path: string): Promise<string[] | undefined> => {
    const open = edited.get(path)?.pieces;
    const text = open === undefined ? await readEditable(path) : undefined;
    return open ?? (text === undefined ? undefined : [text]);
  };
  const [last, earlier] = [parts.at(-1), parts.slice(0, -1)];
  if (last === undefined) return { path: `${start}.md`, text: "", isIn: false };
  const found = await read(last);
  const isIn = (pieces: readonly string[] | undefined) =>
    entry !== undefined &&
    pieces?.some((text) => text.includes(entry.id) && new Set(entry.idsIn(text)).has(entry.id)) === true;
  const isInLast = isIn(found);
  for (const path of isInLast ? [] : earlier) {
    if (entry === undefined) break;
    // If the part has pending edits, search its new text, because the cache describes the file on disk.
    const mine = edited.get(path);
    if (!(mine === undefined ? await closedParts.has(path, entry) : isIn(mine.pieces))) continue;
    const part = await read(path);
    if (part !== undefined) return { path, text: part[0] ?? "", isIn: true };
  }
  const length = found?.reduce((sum, text) => sum + text.length, 0) ?? 0;
  if (found !== undefined && (isInLast || length < maxPartBytes))
    return { path: last, text: found[0] ?? "", isIn: isInLast };
  return { path: `${start}.${partNumber(last) + 1}.md`, text: "", isIn: false };
}

interface Part {
  path: string;
  /** As read; of a part with pending edits, only its first piece. */
  text: string;
  /** The part has the entry. */
  isIn: boolean;
}

interface IdCache {
  has(path: string, entry: NonNullable<DayChange["entry"]>): Promise<boolean>;
}

/** Caches entry ids of full parts so that a busy day need not reread them. May list entries that people removed. */
function createIdCache(): IdCache {
  const most = 200;
  const known = new Map<string, Set<string>>();
  return {
    async has(path, entry) {
      const ids = known.get(path) ?? new Set(Array.from(entry.idsIn((await readEditable(path)) ?? ""), copied));
      known.delete(path);
      known.set(path, ids);
      const [oldest] = known.keys();
      if (known.size > most && oldest !== undefined) known.delete(oldest);
      return ids.has(entry.id);
    },
  };
}

/** A part of a string keeps the whole string in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}

function partNumber(path: string): number {
  return Number(/\.(\d+)\.md$/.exec(path)?.[1] ?? 1);
}

function partKey(name: string): string {
  return `${dayOfFile(name) ?? ""} ${String(partNumber(name)).padStart(9, "0")}`;
}
