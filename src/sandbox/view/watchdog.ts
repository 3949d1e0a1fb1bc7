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
  /** The layer is being looked at, which may take longer than the time to the next look. */
  isCounting: boolean;
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

  const look = () => {
    for (const [view, state] of views) {
      end(view, processLimit(view, state));
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
      views.set(view, { residentBytes: 0, isCounting: false });
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

/** Notes the resident memory in `state`. A view that has just gone is over no limit. */
function processLimit({ proc, limits, processes }: Watched, state: State): CommandLimit | undefined {
  try {
    const usage = processes();
    state.residentBytes = usage.residentBytes;
    if (usage.threads > limits.maxProcesses) return "processes";
    if (usage.processorSeconds > limits.maxProcessorSeconds) return "processor-time";
    const isOver = usage.residentBytes > limits.maxMemoryBytes;
    return isOver && proportionalBytes(proc, usage.processes) > limits.maxMemoryBytes ? "memory" : undefined;
  } catch {
    return undefined;
  }
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
