/** How a command ended, in words for the model. */
import { constants } from "node:os";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import type { CommandEnd, CommandLimit, ViewLimits } from "../../ports/sandbox.ts";
import type { CommandStatus } from "./view-process.ts";

/** `limit`: what the watchdog saw. `wasKilled`: the caller ended it. */
export function commandEnd(
  result: CommandStatus,
  { limit, wasKilled, limits }: { limit: CommandLimit | undefined; wasKilled: boolean; limits: ViewLimits },
): CommandEnd {
  if (result.type === "failed")
    return { message: `The command did not start: ${result.failure.step}: ${result.failure.errorName}.` };
  const status = result.type === "gone" ? constants.signals.SIGKILL : result.status;
  const signal = signalName(status & 0x7f);
  const ended = signal === undefined ? { exitCode: (status >> 8) & 0xff } : { signal };
  const exceeded = limit ?? (wasKilled ? undefined : limitOfSignal(signal));
  if (exceeded !== undefined) return { ...ended, limit: exceeded, message: limitMessage(exceeded, limits) };
  if (wasKilled) return { ...ended, message: "The command was stopped." };
  if (result.type === "gone")
    return { ...ended, message: "The command was ended from outside, perhaps for lack of memory." };
  if (signal !== undefined) return { ...ended, message: `The command was ended by ${signal}.` };
  return { ...ended, message: ended.exitCode === 0 ? "" : `The command ended with exit code ${ended.exitCode}.` };
}

function signalName(number: number): string | undefined {
  if (number === 0) return undefined;
  const known = Object.entries(constants.signals).find(([, value]) => value === number);
  return known?.[0] ?? `signal ${number}`;
}

/** The kernel's own answer to a file or a process that is over its limit. */
function limitOfSignal(signal: string | undefined): CommandLimit | undefined {
  if (signal === "SIGXFSZ") return "disk-space";
  return signal === "SIGXCPU" ? "processor-time" : undefined;
}

function limitMessage(limit: CommandLimit, limits: ViewLimits): string {
  switch (limit) {
    case "memory":
      return `The command was ended: it used more than ${formatBytes(limits.maxMemoryBytes)} of memory.`;
    case "processes":
      return `The command was ended: it ran more than ${limits.maxProcesses} processes and threads.`;
    case "processor-time":
      return `The command was ended: it used more than ${limits.maxProcessorSeconds} s of processor time.`;
    case "disk-space": {
      const { maxLayerBytes, maxFileBytes } = limits;
      return `The command was ended: it wrote more than ${formatBytes(maxLayerBytes)}, a file over ${formatBytes(maxFileBytes)}, or more than the disk has left.`;
    }
    case "files":
      return `The command was ended: it made more than ${limits.maxLayerFiles} files.`;
    case "output":
      return "The command was ended: it wrote too much output.";
    default:
      return limit satisfies never;
  }
}
