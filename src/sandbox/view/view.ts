/** One view: its command, its limits and its end. */
import { constants, open as openFile } from "node:fs";
import { Socket } from "node:net";
import { finished } from "node:stream/promises";
import { promisify } from "node:util";
import type { CommandLimit, RunningCommand, View, ViewCommand, ViewLimits } from "../../ports/sandbox.ts";
import { commandEnd } from "./command-end.ts";
import {
  type ChildSteps,
  commandProgram,
  endSteps,
  type ResourceLimits,
  shellSteps,
  viewUser,
} from "./command-program.ts";
import { createLayerMeter } from "./layer-usage.ts";
import {
  mappedMemoryFactor,
  maxCommandBytes,
  maxOpenFiles,
  maxProcessesRead,
  minFreeDiskBytes,
  sparedProcesses,
} from "./limits.ts";
import { isKernelAtLeast } from "./machine-facts.ts";
import { descriptors } from "./mount-steps.ts";
import { createProcessMeter } from "./process-usage.ts";
import { removeWorkFolder } from "./remove-folder.ts";
import type { Processor } from "./system-calls.ts";
import { LauncherFailure, type ViewProcess } from "./view-process.ts";
import { layerLimit, type Watchdog } from "./watchdog.ts";

export interface ViewParts {
  process: ViewProcess;
  processor: Processor;
  shell: string;
  pageBytes: number;
  folder: string;
  limits: ViewLimits;
  watchdog: Watchdog;
  /** The host folder that receives the view's writes. */
  written: string;
  upper: string | undefined;
  /** The working folder of overlayfs, or the copy. Removed when the view closes. */
  temporary: string;
  onClose(): void;
}

export interface StepView extends View {
  startSteps(steps: ChildSteps): RunningCommand;
}

const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  USER: viewUser.name,
  LOGNAME: viewUser.name,
  LANG: "C.UTF-8",
  TERM: "dumb",
};

export async function createView(parts: ViewParts): Promise<StepView> {
  const { process, watchdog, limits, folder, written } = parts;
  const path = (descriptor: number) => `/proc/${process.pid}/fd/${descriptor}`;
  const proc = path(descriptors.proc);
  const processes = createProcessMeter(proc, maxProcessesRead, parts.pageBytes);
  const openFiles = () => processes().processes.map((pid) => `${proc}/${pid}/fd`);
  const [output, layer] = await Promise.all([
    openPipe(path(descriptors.outputEnd)),
    createLayerMeter({
      folder: written,
      isEmpty: parts.upper !== undefined,
      limits,
      minFreeBytes: minFreeDiskBytes,
      openFiles,
    }),
  ]);
  const stopped = new AbortController();
  let hasStarted = false;
  let closing: Promise<void> | undefined;

  const startSteps = (steps: ChildSteps, refusal?: LauncherFailure): RunningCommand => {
    if (hasStarted) throw new Error("A view runs one command");
    hasStarted = true;
    let limit: CommandLimit | undefined;
    let wasKilled = false;
    const end = (exceeded: CommandLimit) => {
      limit = exceeded;
      process.killCommand();
    };
    const watch = watchdog.watch({ proc, limits, processes, layer, end });
    const run = async () => {
      const program = commandProgram(parts.processor, resourceLimits(limits), refusal === undefined ? steps : endSteps);
      const ended = await process.run(program);
      const status = refusal === undefined ? ended : ({ type: "failed", failure: refusal } as const);
      watch.stop();
      const needsCheck = limit === undefined && !wasKilled && status.type === "ended";
      const [exceeded] = await Promise.all([
        needsCheck ? layer.check(stopped.signal, true).catch(() => undefined) : undefined,
        // The output also ends when its reader closes it.
        finished(output, { writable: false }).catch(() => undefined),
      ]);
      limit ??= layerLimit(exceeded);
      return commandEnd(status, { limit, wasKilled, limits });
    };
    const kill = () => {
      wasKilled = true;
      process.killCommand();
    };
    return { output, ended: run(), kill };
  };

  const close = async () => {
    stopped.abort();
    await process.end();
    output.destroy();
    parts.onClose();
    await removeWorkFolder(parts.temporary);
  };

  return {
    merged: path(descriptors.merged),
    upper: parts.upper,
    pid: process.pid,
    startSteps,
    start({ text, env }: ViewCommand) {
      const variables = { ...environment, SHELL: parts.shell, PWD: folder, ...env };
      const bytes = [text, ...Object.entries(variables).flat()].reduce((sum, one) => sum + Buffer.byteLength(one), 0);
      const refusal = bytes > maxCommandBytes ? new LauncherFailure("read the command", "E2BIG") : undefined;
      return startSteps(shellSteps(parts.shell, text, variables), refusal);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Opens the command's output. It is a pipe, because commands can't open /dev/stderr if it is a socket. */
async function openPipe(path: string): Promise<Socket> {
  const fd = await promisify(openFile)(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

function resourceLimits(limits: ViewLimits): ResourceLimits {
  return {
    maxFileBytes: limits.maxFileBytes,
    maxProcessorSeconds: limits.maxProcessorSeconds,
    maxMappedBytes: limits.maxMemoryBytes * mappedMemoryFactor,
    maxOpenFiles,
    // Before 5.14, the kernel also counted the user's processes outside the view.
    maxProcesses: isKernelAtLeast(5, 14) ? limits.maxProcesses + sparedProcesses : undefined,
  };
}
