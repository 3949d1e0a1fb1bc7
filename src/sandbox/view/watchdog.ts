/**
 * Kills commands that exceed the limits of their view, because rlimits apply only to single processes. Also checks the
 * machine's free memory, to cover memory outside of processes, such as in-memory files and sockets.
 */
import type { CommandLimit, ViewLimits } from "../../ports/sandbox.ts";
import type { LayerMeter } from "./layer-usage.ts";
import { availableMemoryBytes, type ProcessUsage, proportionalBytes } from "./process-usage.ts";

export interface Watched {
  proc: string;
  limits: ViewLimits;
  processes(): ProcessUsage;
  layer: LayerMeter;
  end(limit: CommandLimit): void;
}

export interface Watchdog {
  watch(view: Watched): { stop(): void };
  close(): void;
}

export interface WatchdogOptions {
  intervalMs: number;
  minFreeMemoryBytes: number;
}

interface State {
  residentBytes: number;
  /** Checks of the layer and of memory may take longer than the interval, but must not overlap. */
  isCheckingLayer: boolean;
  isCheckingMemory: boolean;
}

export function createWatchdog({ intervalMs, minFreeMemoryBytes }: WatchdogOptions): Watchdog {
  const views = new Map<Watched, State>();
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const end = (view: Watched, limit: CommandLimit | undefined) => {
    if (limit !== undefined && views.delete(view)) view.end(limit);
  };

  const checkLayer = async (view: Watched, state: State) => {
    if (state.isCheckingLayer) return;
    state.isCheckingLayer = true;
    end(view, layerLimit(await view.layer.check(stopped.signal).catch(() => undefined)));
    state.isCheckingLayer = false;
  };

  const checkMemory = async (view: Watched, state: State, processes: readonly string[]) => {
    if (state.isCheckingMemory) return;
    state.isCheckingMemory = true;
    const { maxMemoryBytes } = view.limits;
    const bytes = await proportionalBytes(view.proc, processes, maxMemoryBytes);
    if (bytes > maxMemoryBytes) end(view, "memory");
    state.isCheckingMemory = false;
  };

  const checkAll = () => {
    for (const [view, state] of views) {
      const usage = processUsage(view);
      state.residentBytes = usage?.residentBytes ?? 0;
      end(view, usage && processLimit(view, usage));
      // Shared memory counts once per process here, so the real use may be less.
      if (usage && usage.residentBytes > view.limits.maxMemoryBytes) void checkMemory(view, state, usage.processes);
      void checkLayer(view, state);
    }
    if ((availableMemoryBytes() ?? Number.POSITIVE_INFINITY) < minFreeMemoryBytes) endLargest();
  };

  /** Kills the largest command, one per interval, until enough memory is free. */
  const endLargest = () => {
    const [largest] = [...views].sort(([, one], [, other]) => other.residentBytes - one.residentBytes);
    if (largest !== undefined) end(largest[0], "memory");
  };

  const schedule = () => {
    if (timer !== undefined || views.size === 0 || stopped.signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      checkAll();
      schedule();
    }, intervalMs);
    timer.unref();
  };

  return {
    watch(view) {
      views.set(view, { residentBytes: 0, isCheckingLayer: false, isCheckingMemory: false });
      schedule();
      return { stop: () => void views.delete(view) };
    },
    close() {
      stopped.abort();
      clearTimeout(timer);
      views.clear();
    },
  };
}

function processUsage({ processes }: Watched): ProcessUsage | undefined {
  try {
    return processes();
  } catch {
    return undefined;
  }
}

function processLimit({ limits }: Watched, usage: ProcessUsage): CommandLimit | undefined {
  if (usage.threads > limits.maxProcesses) return "processes";
  return usage.processorSeconds > limits.maxProcessorSeconds ? "processor-time" : undefined;
}

export function layerLimit(exceeded: Awaited<ReturnType<LayerMeter["check"]>>): CommandLimit | undefined {
  switch (exceeded) {
    case undefined:
      return undefined;
    case "files":
      return "files";
    case "bytes":
    case "full":
      return "disk-space";
    default:
      return exceeded satisfies never;
  }
}
