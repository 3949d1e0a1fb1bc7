/** Exports the valid audit lines of all chains for other systems, sorted by time within each day. */
import { join } from "node:path";
import { toIsoDate } from "../lib/iso-date.ts";
import { linesOf, listAuditFiles } from "./files.ts";

export async function* exportAudit(folder: string, since: number): AsyncGenerator<string> {
  const sinceDay = toIsoDate(since);
  const files = (await listAuditFiles(folder)).filter(({ day }) => day >= sinceDay);
  for (const [, ofDay] of Map.groupBy(files, ({ day }) => day)) {
    const lines: { at: number; text: string }[] = [];
    for (const { name } of ofDay)
      for await (const { bytes, isTorn } of linesOf(join(folder, name))) {
        const text = bytes.toString();
        const at = isTorn ? Number.NaN : lineTime(text);
        if (at >= since) lines.push({ at, text });
      }
    for (const { text } of lines.sort((one, other) => one.at - other.at)) yield text;
  }
}

function lineTime(text: string): number {
  try {
    const { at } = JSON.parse(text) as { at?: unknown };
    return typeof at === "string" ? Date.parse(at) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
