/** The newest entries of a scope by their headlines, for people to look at; reads no more day files than it needs. */
import { basename } from "node:path";
import type { MemoryScope } from "../ports/message.ts";
import { dayOfFile, listDayFiles, readChangeable } from "./day-files.ts";
import { parseDay } from "./episodes.ts";
import { scopeFolder } from "./places.ts";

export interface RecentEntry {
  /** ISO 8601; of the day alone where the entry has no time. */
  at: string;
  headline: string;
}

/** Newest first. */
export async function readRecentEntries(workspace: string, scope: MemoryScope, limit: number): Promise<RecentEntry[]> {
  const found: RecentEntry[] = [];
  const files = await listDayFiles(scopeFolder(workspace, "episode", scope));
  for (const path of files.reverse()) {
    const { entries } = parseDay((await readChangeable(path)) ?? "");
    for (const { raw, marker } of entries.reverse()) {
      if (found.length === limit) return found;
      const [, headline = ""] = /^## (?:\d\d:\d\d — )?(.*)/.exec(raw) ?? [];
      found.push({ at: marker?.at ?? dayOfFile(basename(path)) ?? "", headline });
    }
  }
  return found;
}
