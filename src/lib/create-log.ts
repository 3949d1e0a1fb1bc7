/**
 * The process's log on standard error, and in files by day if a folder is given. Redacts each finished line so that no
 * field or message can leak a secret. Lines that are written during a turn name it (log-context.ts). Under systemd, each
 * line begins with its priority, which the journal removes.
 */
import { fstatSync } from "node:fs";
import pino from "pino";
import { createDayFiles } from "./day-files.ts";
import type { Log } from "./log.ts";
import { logContext } from "./log-context.ts";
import type { Redact } from "./redact.ts";

/** Syslog priorities by pino's levels. */
const priorities: Readonly<Record<string, number>> = { "10": 7, "20": 7, "30": 6, "40": 4, "50": 3, "60": 2 };

export interface LeveledLog extends Log {
  level: string;
  /** Closes the file of the day. A later line opens it again. */
  close(): void;
}

/** Such as `process.stderr`. */
export type LogStream = NodeJS.WritableStream & { isTTY?: boolean };

export async function createLog(
  level: string,
  redact: Redact,
  { stream = process.stderr, folder }: { stream?: LogStream; folder?: string } = {},
): Promise<LeveledLog> {
  const isInJournal = writesToJournal(stream);
  const destination = stream.isTTY ? await readable(stream) : stream;
  const files = folder === undefined ? undefined : createDayFiles(folder);
  const write = (line: string) => {
    const clean = redact(line);
    destination.write(isInJournal ? journalPriority(clean) + clean : clean);
    files?.write(clean);
  };
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin: () => logContext.getStore() ?? {} },
    { write },
  );
  return Object.assign(log, { close: () => files?.close() });
}

/** JOURNAL_STREAM names the stream that systemd has connected to the journal; a child's own stream is another one. */
function writesToJournal(stream: LogStream): boolean {
  const { JOURNAL_STREAM: journal } = process.env;
  if (journal === undefined || !("fd" in stream) || typeof stream.fd !== "number") return false;
  try {
    const { dev, ino } = fstatSync(stream.fd);
    return journal === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

function journalPriority(line: string): string {
  const [, level = "30"] = /^\{"level":(\d+)/.exec(line) ?? [];
  return `<${priorities[level] ?? 6}>`;
}

async function readable(stream: LogStream): Promise<{ write(line: string): unknown }> {
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    destination: stream,
    sync: true,
    colorize: true,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss",
  });
}
