/** Describes for the model how a command ended. */
import { constants } from "node:os";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { CommandEnd, CommandLimit, ViewLimits } from "../../ports/sandbox.ts";
import type { CommandStatus } from "./view-process.ts";

export function commandEnd(
  result: CommandStatus,
  { limit, wasKilled, limits }: { limit: CommandLimit | undefined; wasKilled: boolean; limits: ViewLimits },
): CommandEnd {
  if (result.type === "failed")
    return { message: `The command did not start: ${result.failure.step}: ${result.failure.errorName}.` };
  const status = result.type === "gone" ? constants.signals.SIGKILL : result.status;
  const signal = signalName(status & 0x7f);
  const ended = signal === undefined ? { exitCode: (status >> 8) & 0xff } : { signal };
  const exceeded = limit ?? (wasKilled ? undefined : limitForSignal(signal));
  if (exceeded !== undefined) return { ...ended, limit: exceeded, message: limitMessage(exceeded, limits) };
  if (wasKilled) return { ...ended, message: "The command was stopped." };
  if (result.type === "gone")
    return { ...ended, message: "The command was killed from outside the sandbox. The machine may be out of memory." };
  if (signal !== undefined) return { ...ended, message: `The command was killed by ${signal}.` };
  return { ...ended, message: ended.exitCode === 0 ? "" : `The command ended with exit code ${ended.exitCode}.` };
}

function signalName(number: number): string | undefined {
  if (number === 0) return undefined;
  const known = Object.entries(constants.signals).find(([, value]) => value === number);
  return known?.[0] ?? `signal ${number}`;
}

/** The kernel sends these signals when a file or a process exceeds its limit. */
function limitForSignal(signal: string | undefined): CommandLimit | undefined {
  if (signal === "SIGXFSZ") return "disk-space";
  return signal === "SIGXCPU" ? "processor-time" : undefined;
}

function limitMessage(limit: CommandLimit, limits: ViewLimits): string {
  switch (limit) {
    case "memory":
      return `The command was killed: it used more than ${formatBytes(limits.maxMemoryBytes)} of memory.`;
    case "processes":
      return `The command was killed: it ran more than ${limits.maxProcesses} processes and threads.`;
    case "processor-time":
      return `The command was killed: it used more than ${limits.maxProcessorSeconds} s of processor time.`;
    case "disk-space": {
      const { maxLayerBytes, maxFileBytes } = limits;
      return `The command was killed: it wrote more than ${formatBytes(maxLayerBytes)} in total or ${formatBytes(maxFileBytes)} to one file, or the disk is nearly full.`;
    }
    case "files":
      return `The command was killed: it created more than ${limits.maxLayerFiles} files.`;
    case "output":
      return "The command was killed: it wrote too much output.";
    default:
      return limit satisfies never;
  }
}
