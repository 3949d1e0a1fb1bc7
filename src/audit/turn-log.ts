/** Reads the lines of the event log that name one turn, from the files of the days on which the turn was active. */
import { join } from "node:path";
import { oneLine } from "../lib/text/sanitize.ts";
import { linesOf, listAuditFiles } from "./files.ts";
import { type AuditLine, parseLine } from "./line.ts";

export interface TurnLogLine {
  at: string;
  event: string;
  /** The other fields, as `name: value` on one line. */
  fields: string;
}

const maxLines = 500;
const maxFieldCharacters = 2_000;
/** Fields that repeat what the whole log is about, or that only the audit's chain needs. */
const leftOut: ReadonlySet<string> = new Set(["chain", "sequence", "prev", "at", "event", "turnId", "conversationId"]);

/** `from` and `to` are milliseconds. Lines are sorted by time. */
export async function readTurnLog(
  folder: string,
  { turnId, from, to }: { turnId: string; from: number; to: number },
): Promise<{ lines: TurnLogLine[]; isCut: boolean }> {
  const [first, last] = [dayOf(from), dayOf(to)];
  const files = (await listAuditFiles(folder)).filter(({ day }) => day >= first && day <= last);
  const lines: TurnLogLine[] = [];
  const wanted = Buffer.from(JSON.stringify(turnId).slice(1, -1));
  for (const { name } of files) {
    for await (const { bytes, isTorn } of linesOf(join(folder, name))) {
      if (isTorn || !bytes.includes(wanted)) continue;
      const line = parseLine(bytes.toString());
      if (line === undefined || !isOf(line, turnId)) continue;
      if (lines.length === maxLines) return { lines: byTime(lines), isCut: true };
      lines.push({ at: line.at, event: line.event, fields: fieldsText(line) });
    }
  }
  return { lines: byTime(lines), isCut: false };
}

function isOf({ turnId: id, turnIds, subject }: AuditLine, turnId: string): boolean {
  return id === turnId || subject === turnId || (Array.isArray(turnIds) && turnIds.includes(turnId));
}

function fieldsText(line: AuditLine): string {
  return Object.entries(line)
    .filter(([name]) => !leftOut.has(name))
    .map(
      ([name, value]) =>
        `${name}: ${oneLine(typeof value === "string" ? value : JSON.stringify(value), maxFieldCharacters)}`,
    )
    .join(" · ");
}

function byTime(lines: TurnLogLine[]): TurnLogLine[] {
  return lines.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
