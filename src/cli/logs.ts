/**
 * `remora logs` prints the log that processes keep in the data folder. With `--turn`, it prints the lines of one turn,
 * together with its lines of the event log, in the order of time.
 */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { linesOf, listAuditFiles } from "../audit/files.ts";
import type { Environment } from "../config/environment.ts";
import { pause } from "../lib/backoff.ts";
import { RemoraError } from "../lib/errors.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import { logsFolderOf } from "../storage/folders.ts";
import { auditFolderOf } from "./audit.ts";
import { settingsFor } from "./settings.ts";

export interface LogsOptions {
  turn?: string;
  since?: string;
  level?: string;
  follow?: boolean;
  json?: boolean;
}

interface LogLine {
  at: number;
  level: string;
  turnId?: string;
  message: string;
  fields: Record<string, unknown>;
}

const levelNames = new Map([
  [10, "trace"],
  [20, "debug"],
  [30, "info"],
  [40, "warn"],
  [50, "error"],
]);
const order = [...levelNames.values()];
/** Fields of the event log that only its chain needs, or that every line of a turn repeats. */
const leftOut: ReadonlySet<string> = new Set(["chain", "sequence", "prev", "at", "event", "turnId", "conversationId"]);
const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const defaultSince = "1h";
const pollMs = 300;
/** Ctrl+C ends the process, and with it the wait. */
const never = new AbortController();
const maxFieldCharacters = 2_000;

export async function logsCommand(env: Environment, root: string, options: LogsOptions): Promise<void> {
  const { workspace, data, config } = settingsFor(env, root);
  const since = options.since === undefined && options.turn !== undefined ? 0 : sinceOf(options.since ?? defaultSince);
  const folder = logsFolderOf(data);
  if (config.log.keepDays === 0)
    process.stderr.write("log.keepDays is 0, so no lines are kept here. See standard error of the process.\n");
  const isWanted = (line: LogLine) =>
    line.at >= since &&
    order.indexOf(line.level) >= order.indexOf(options.level ?? "trace") &&
    (options.turn === undefined || line.turnId?.startsWith(options.turn) === true);
  const reader = createReader(folder, since);
  const lines = (await reader.newLines()).filter(isWanted);
  if (options.turn !== undefined)
    lines.push(...(await eventsOf(auditFolderOf(workspace), options.turn)).filter(isWanted));
  for (const line of lines.toSorted((one, other) => one.at - other.at)) print(line, options);
  if (lines.length === 0 && options.follow !== true)
    process.stderr.write(
      options.turn === undefined
        ? `No lines since ${new Date(since).toISOString()} in ${folder}. Use --since for older ones.\n`
        : `No lines name a turn "${options.turn}". The line below an answer has its id, under Details.\n`,
    );
  while (options.follow === true) {
    await pause(pollMs, never.signal);
    for (const line of (await reader.newLines()).filter(isWanted)) print(line, options);
  }
}

function sinceOf(text: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * unitMs[unit as keyof typeof unitMs];
  if (!Number.isNaN(at)) return at;
  throw new RemoraError({
    code: "logs.since",
    place: `--since ${text}`,
    message: "is not a time. Write 30m, 2h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z",
  });
}

/** Reads whole lines that were added since the last call. The first call begins with the day of `since`. */
function createReader(folder: string, since: number): { newLines(): Promise<LogLine[]> } {
  const readUpTo = new Map<string, number>();
  const firstDay = since <= 0 ? "" : toIsoDate(since);

  async function newLinesOf(path: string): Promise<LogLine[]> {
    const start = readUpTo.get(path) ?? 0;
    if ((await stat(path)).size <= start) return [];
    const chunks: Buffer[] = [];
    for await (const chunk of createReadStream(path, { start }) as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const end = bytes.lastIndexOf("\n") + 1;
    readUpTo.set(path, start + end);
    return bytes.subarray(0, end).toString().split("\n").flatMap(parseLine);
  }

  return {
    async newLines() {
      const names = await readdir(folder).catch(() => []);
      const days = names.filter((name) => /^\d{4}-\d\d-\d\d\.jsonl$/.test(name) && name >= firstDay).toSorted();
      const lines: LogLine[] = [];
      for (const name of days) lines.push(...(await newLinesOf(join(folder, name))));
      return lines;
    },
  };
}

function parseLine(text: string): LogLine[] {
  try {
    const { level, time, msg, turnId, ...fields } = JSON.parse(text) as Record<string, unknown>;
    const at = Date.parse(String(time));
    const ofTurn = typeof turnId === "string" ? { turnId } : {};
    return [{ at, level: levelNames.get(Number(level)) ?? "info", message: String(msg), ...ofTurn, fields }];
  } catch {
    // A line that a full disk cut off.
    return [];
  }
}

async function eventsOf(folder: string, turn: string): Promise<LogLine[]> {
  const found: LogLine[] = [];
  for (const { name } of await listAuditFiles(folder)) {
    for await (const { bytes, isTorn } of linesOf(join(folder, name))) {
      if (isTorn || !bytes.includes(turn)) continue;
      const event = JSON.parse(bytes.toString()) as Record<string, unknown>;
      if (typeof event.turnId !== "string" || !event.turnId.startsWith(turn)) continue;
      const fields = Object.fromEntries(Object.entries(event).filter(([key]) => !leftOut.has(key)));
      const at = Date.parse(String(event.at));
      found.push({ at, level: "info", turnId: event.turnId, message: String(event.event), fields });
    }
  }
  return found;
}

function print(line: LogLine, { json }: LogsOptions): void {
  const time = new Date(line.at).toISOString();
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ time, ...line, at: undefined })}\n`);
    return;
  }
  const fields = Object.entries(line.fields).map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${key}=${oneLine(text, maxFieldCharacters)}`;
  });
  const words = [time, line.level.toUpperCase().padEnd(5), oneLine(line.message, maxFieldCharacters), ...fields];
  process.stdout.write(`${words.join(" ")}\n`);
}
