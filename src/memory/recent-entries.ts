/** Lists the headlines of a scope's newest entries, for people. Reads no more day files than necessary. */
import { basename } from "node:path";
import type { MemoryScope } from "../ports/message.ts";
import { dayOfFile, listDayFiles, readEditable } from "./day-files.ts";
import { parseDay } from "./episodes.ts";
import { scopeFolder } from "./places.ts";

export interface RecentEntry {
  /** ISO 8601, or only the day if the entry has no time. */
  at: string;
  headline: string;
}

export async function readRecentEntries(workspace: string, scope: MemoryScope, limit: number): Promise<RecentEntry[]> {
  const found: RecentEntry[] = [];
  const files = await listDayFiles(scopeFolder(workspace, "episode", scope));
  for (const path of files.reverse()) {
    const { entries } = parseDay((await readEditable(path)) ?? "");
    for (const { raw, marker } of entries.reverse()) {
      if (found.length === limit) return found;
      const [, headline = ""] = /^## (?:\d\d:\d\d — )?(.*)/.exec(raw) ?? [];
      found.push({ at: marker?.at ?? dayOfFile(basename(path)) ?? "", headline });
    }
  }
  return found;
}
