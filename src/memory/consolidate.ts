/**
 * Keeps memory small without asking a model. Removes episodes and feedback older than the retention period; knowledge
 * is kept until someone removes it. Of a day's entries with the same words, keeps only the last one, because a
 * scheduled task may repeat its answer every few minutes. Idempotent; skips files that can't be changed.
 */
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { FileOrder } from "../lib/file-order.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import type { Log } from "../lib/log.ts";
import { dayOfFile, listDayFiles, readEditable } from "./day-files.ts";
import { type DayEntry, parseDay } from "./episodes.ts";
import { foldersByScope } from "./memory-files.ts";

export interface Consolidation {
  removedFiles: number;
  removedEntries: number;
}

export interface ConsolidationOptions {
  workspace: string;
  inOrder: FileOrder;
  /** Null keeps everything. */
  retentionDays: number | null;
  log: Log;
  now: () => number;
}

export async function consolidate(options: ConsolidationOptions): Promise<Consolidation> {
  const { workspace, inOrder, retentionDays, log, now } = options;
  const done: Consolidation = { removedFiles: 0, removedEntries: 0 };
  const oldest = retentionDays === null ? "" : toIsoDate(now() - retentionDays * 86_400_000);
  for (const { kind, folder } of [...foldersByScope(workspace).values()].flat()) {
    if (kind === "knowledge") continue;
    for (const path of await listDayFiles(join(workspace, folder))) {
      const day = dayOfFile(path) ?? "";
      const isOld = day < oldest;
      // Only past days, because today's entries may still change.
      const mayRepeat = kind === "episode" && day < toIsoDate(now());
      try {
        if (!isOld && !(mayRepeat && (await withoutRepeated(path)) !== undefined)) continue;
        await inOrder(join(workspace, folder, day), async (files) => {
          if (isOld) {
            await files.remove(path);
            done.removedFiles++;
            return;
          }
          const changed = await withoutRepeated(path);
          if (changed === undefined) return;
          await files.write(path, changed.text);
          done.removedEntries += changed.removed;
        });
      } catch (thrown) {
        log.warn({ path, error: messageOf(thrown) }, "could not consolidate a memory file; it is unchanged");
      }
    }
  }
  return done;
}

/** Returns undefined if no entry of the day repeats another. */
async function withoutRepeated(path: string): Promise<{ text: string; removed: number } | undefined> {
  const text = await readEditable(path);
  if (text === undefined) return undefined;
  const { preamble, entries } = parseDay(text);
  const lastOf = new Map(entries.map((entry, index) => [said(entry), index]));
  const kept = entries.filter((entry, index) => entry.marker === undefined || lastOf.get(said(entry)) === index);
  if (kept.length === entries.length) return undefined;
  const rest = (preamble + kept.map((entry) => entry.raw).join("")).trimEnd();
  return { text: `${rest}\n`, removed: entries.length - kept.length };
}

function said({ raw }: DayEntry): string {
  return raw
    .replace(/^## \d\d:\d\d/, "")
    .replace(/\n<!-- turn=[^\n]*-->\n/, "\n")
    .trim();
}
