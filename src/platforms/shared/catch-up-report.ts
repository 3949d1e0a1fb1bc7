/** What a catch-up has read, and what it could not read, in words for `/remora status` and the dashboard. */
import type { Log } from "../../lib/log.ts";

export interface CatchUpReport {
  /** Conversations to read, and those that have been. */
  total: number;
  read: number;
  messages: number;
  /** The bot can't read them any more. */
  closed: Set<string>;
  /** There were more missed messages than are read. */
  cut: Set<string>;
  /** There were missed messages older than `maxMissedAgeMs`. */
  old: Set<string>;
  /** The service did not answer. They are read again at the next start. */
  failed: Set<string>;
  /** Known or listed conversations that were left out. */
  unchecked: number;
  isOver: boolean;
}

/** Older messages are not read, because nobody still waits for their answers. */
export const maxMissedAgeMs = 7 * 86_400_000;

export function newReport(): CatchUpReport {
  return {
    ...{ total: 0, read: 0, messages: 0, unchecked: 0, isOver: false },
    ...{ closed: new Set<string>(), cut: new Set<string>(), old: new Set<string>(), failed: new Set<string>() },
  };
}

/** Fewer conversations than this are read within moments. */
const minShownTotal = 20;

/** Undefined if there is nothing to tell. */
export function reportText(report: CatchUpReport): string | undefined {
  const { total, read, isOver } = report;
  if (!isOver && total >= minShownTotal)
    return `reading what was missed while offline (${read} of ${total} conversations)`;
  const parts = [
    [report.closed.size, "I have no access any more"],
    [report.failed.size, "the service did not answer"],
    [report.cut.size, "there were too many messages, so not all were read"],
    [report.old.size, "messages from more than 7 days ago were not read"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, why]) => `in ${conversations(count)}, ${why}`);
  return told.length === 0 ? undefined : `some messages from while I was offline were not read: ${told.join("; ")}`;
}

function conversations(count: number): string {
  return count === 1 ? "1 conversation" : `${count} conversations`;
}

export function logReport(report: CatchUpReport, log: Log): void {
  const { total, messages, closed, cut, old, failed, unchecked } = report;
  const lost = { noAccess: closed.size, tooMany: cut.size, tooOld: old.size, noAnswer: failed.size };
  const counts = { conversations: total, messages, ...lost, unchecked };
  const isWhole = closed.size + cut.size + old.size + failed.size === 0;
  if (isWhole) log.info(counts, "read what was missed while offline");
  else log.warn(counts, "some messages from while offline could not be read");
}
