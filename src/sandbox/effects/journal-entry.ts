/**
 * Stores on disk one set of changes to keep or undo. `<journal>/<id>/` contains:
 *
 *   entry.json      the state; replaced at every step
 *   changes.jsonl   one line per path with its old and new state; written once
 *   before/<n>      the old version of the n-th path
 *   after/<n>       its new version, until it is in place
 *   gone/<n>        the removed entry, until everything is in place
 */
import { createReadStream } from "node:fs";
import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { ifMissing, RemoraError } from "../../lib/errors.ts";
import { readLines } from "../../lib/text/read-lines.ts";
import type { EntryState } from "./entry-state.ts";
import type { Pace } from "./pace.ts";
import type { RawPath } from "./raw-path.ts";

/** Recovery completes `applying` entries. `incomplete` ones were reverted, except files that somebody else changed. */
const states = ["preparing", "applying", "reverting", "done", "incomplete"] as const;

const entrySchema = z.object({
  version: z.literal(1),
  id: z.string(),
  kind: z.enum(["keep", "undo"]),
  base: z.string(),
  state: z.enum(states),
  at: z.number(),
  paths: z.number(),
  bytes: z.number(),
  /** True if journal and base are on different file systems. The staging folder is then in base. */
  isElsewhere: z.boolean(),
  /** Parent folders that deny writing, and the modes to restore. */
  opened: z.array(z.object({ path: z.string(), mode: z.number() })),
});

export type JournalEntry = z.infer<typeof entrySchema>;

export interface JournalChange {
  path: RawPath;
  from: EntryState;
  to: EntryState;
  /** The owner of the old entry, or -1 if nothing was there. */
  owner: { uid: number; gid: number };
}

const undoSuffix = ".undo";
const maxLinesPerWrite = 2_000;

export function entryFolder(journal: string, id: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}(\.undo)?$/.test(id)) {
    throw new RemoraError({
      code: "effects.id",
      place: "effects",
      message: `${JSON.stringify(id)} can't be the id of a journal entry: use letters, digits, "-" and "_"`,
    });
  }
  return join(journal, id);
}

export function undoId(id: string): string {
  return `${id}${undoSuffix}`;
}

export function keptId(id: string): string {
  return id.endsWith(undoSuffix) ? id.slice(0, -undoSuffix.length) : id;
}

export async function writeEntry(journal: string, entry: JournalEntry): Promise<void> {
  const folder = entryFolder(journal, entry.id);
  await writeFileAtomic(join(folder, "entry.json"), `${JSON.stringify(entry)}\n`);
  await syncPath(folder);
}

export async function readEntryFile(journal: string, id: string): Promise<JournalEntry | undefined> {
  const text = await readFile(join(entryFolder(journal, id), "entry.json"), "utf8").catch(ifMissing(undefined));
  return text === undefined ? undefined : entrySchema.parse(JSON.parse(text));
}

export async function writeChanges(folder: string, changes: readonly JournalChange[], pace: Pace): Promise<void> {
  const file = await open(join(folder, "changes.jsonl"), "w", 0o600);
  try {
    for (let at = 0; at < changes.length; at += maxLinesPerWrite) {
      const lines = changes.slice(at, at + maxLinesPerWrite).map(({ path, from, to, owner }) => {
        return `${JSON.stringify({ path, from, to, owner })}\n`;
      });
      await file.appendFile(lines.join(""));
      if (pace.isDue()) await pace.rest();
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Needs no validation, because the file was complete before the entry left `preparing`. */
export async function readChanges(journal: string, id: string): Promise<JournalChange[]> {
  const changes: JournalChange[] = [];
  const lines = readLines(createReadStream(join(entryFolder(journal, id), "changes.jsonl")));
  for await (const line of lines) changes.push(JSON.parse(line));
  return changes;
}

/** Removes `entry.json` first so that recovery can remove the rest after a crash. */
export async function removeEntry(journal: string, id: string): Promise<void> {
  const folder = entryFolder(journal, id);
  await rm(join(folder, "entry.json"), { force: true });
  await rm(folder, { recursive: true, force: true });
}

export async function entryIds(journal: string): Promise<string[]> {
  const names = await readdir(journal).catch(ifMissing([]));
  return names.filter((name) => /^[A-Za-z0-9_-]{1,100}(\.undo)?$/.test(name));
}

export async function syncPath(path: string | Buffer): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
