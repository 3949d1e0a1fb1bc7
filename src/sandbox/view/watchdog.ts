/**
 * Ends commands that use more than their view may. Rlimits bound single processes; this looks at all of a view's:
 *
 *   1. processes and threads, resident memory, processor time
 *   2. bytes and files of the layer, and the disk's free space
 *   3. the machine's free memory, which also falls through memory that belongs to no process (files in memory, sockets)
 *
 * Nothing is polled while no command runs. One timer serves all views.
 */
import type { CommandLimit, ViewLimits } from "../../ports/sandbox.ts";
import type { LayerMeter } from "./layer-usage.ts";
import { availableMemoryBytes, type ProcessUsage, proportionalBytes } from "./process-usage.ts";

export interface Watched {
  /** The view's /proc, as the host can open it. */
  proc: string;
  limits: ViewLimits;
  processes(): ProcessUsage;
  layer: LayerMeter;
  /** Called once. */
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
  /** The layer is being looked at, which may take longer than the time to the next look; so may the memory. */
  isCounting: boolean;
  isWeighing: boolean;
}

export function createWatchdog({ intervalMs, minFreeMemoryBytes }: WatchdogOptions): Watchdog {
  const views = new Map<Watched, State>();
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const end = (view: Watched, limit: CommandLimit | undefined) => {
    if (limit !== undefined && views.delete(view)) view.end(limit);
  };

  const lookAtLayer = async (view: Watched, state: State) => {
    if (state.isCounting) return;
    state.isCounting = true;
    end(view, layerLimit(await view.layer.check(stopped.signal).catch(() => undefined)));
    state.isCounting = false;
  };

  const weighMemory = async (view: Watched, state: State, processes: readonly string[]) => {
    if (state.isWeighing) return;
    state.isWeighing = true;
    const { maxMemoryBytes } = view.limits;
    const bytes = await proportionalBytes(view.proc, processes, maxMemoryBytes);
    if (bytes > maxMemoryBytes) end(view, "memory");
    state.isWeighing = false;
  };

  const look = () => {
    for (const [view, state] of views) {
      const usage = processUsage(view);
      state.residentBytes = usage?.residentBytes ?? 0;
      end(view, usage && processLimit(view, usage));
      // What processes share counts for each of them here, so that it may be less.
      if (usage && usage.residentBytes > view.limits.maxMemoryBytes) void weighMemory(view, state, usage.processes);
      void lookAtLayer(view, state);
    }
    if ((availableMemoryBytes() ?? Number.POSITIVE_INFINITY) < minFreeMemoryBytes) endLargest();
  };

  /** One for each look, until there is enough free memory. */
  const endLargest = () => {
    const [largest] = [...views].sort(([, one], [, other]) => other.residentBytes - one.residentBytes);
    if (largest !== undefined) end(largest[0], "memory");
  };

  const schedule = () => {
    if (timer !== undefined || views.size === 0 || stopped.signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      look();
      schedule();
    }, intervalMs);
    timer.unref();
  };

  return {
    watch(view) {
      views.set(view, { residentBytes: 0, isCounting: false, isWeighing: false });
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

/** Undefined for a view that has just gone, which is over no limit. */
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
