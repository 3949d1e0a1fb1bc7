/** Writes and reads the log of a background job: the command's output and how it ended. */
import { open, readFile } from "node:fs/promises";
import { formatNumber } from "../../lib/text/format-number.ts";
import type { CommandEnd, RunningCommand } from "../../ports/sandbox.ts";

const mebibyte = 1024 * 1024;
const maxLogBytes = 16 * mebibyte;
const maxReadBytes = 24 * 1024;

/** Resolves when the command ends. Kills a command that writes too much. */
export async function writeJobLog(
  file: string,
  running: RunningCommand,
  describeEnd: (end: CommandEnd) => string,
): Promise<CommandEnd> {
  let size = 0;
  await using log = await open(file, "wx");
  for await (const chunk of running.output as AsyncIterable<Uint8Array>) {
    if (size > maxLogBytes) continue;
    size += chunk.length;
    if (size > maxLogBytes) running.kill();
    else await log.appendFile(chunk);
  }
  const ended = await running.ended;
  const end = size > maxLogBytes ? { ...ended, limit: "output" as const } : ended;
  await log.appendFile(`\n[${describeEnd(end)}]\n`);
  return end;
}

export async function readJobLog(file: string): Promise<string> {
  const log = await readFile(file).catch(() => Buffer.alloc(0));
  const tail = new TextDecoder().decode(log.subarray(-maxReadBytes));
  if (log.length <= maxReadBytes) return tail;
  return `[… ${formatNumber(log.length - maxReadBytes)} earlier bytes …]\n${tail}`;
}

export function jobEndText({ exitCode, signal, limit, message }: CommandEnd, isStopped: boolean): string {
  if (isStopped) return "stopped; its changes were discarded";
  if (limit === "output")
    return `stopped, because it wrote more than ${maxLogBytes / mebibyte} MiB; its changes were discarded`;
  if (limit !== undefined) return `${message} Its changes were discarded.`;
  return exitCode === undefined ? `ended by ${signal ?? "an unknown signal"}` : `exit code ${exitCode}`;
}
