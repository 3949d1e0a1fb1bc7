/**
 * Ends commands that use more than their view may. Rlimits bound single processes; this looks at all of a view's:
 *
 *   1. processes and threads, resident memory, processor time
 *   2. bytes and files of the layer, and the disk's free space
 *   3. the machine's free memory, which also falls through memory that belongs to no process (files in memory, sockets)
 *
 * Nothing is polled while no command runs. One timer serves all views, and a look begins when the one before has ended.
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

export function createWatchdog({ intervalMs, minFreeMemoryBytes }: WatchdogOptions): Watchdog {
  const views = new Map<Watched, { residentBytes: number }>();
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const look = async () => {
    for (const [view, state] of views) {
      const limit = await exceededLimit(view, state, stopped.signal).catch(() => undefined);
      if (limit !== undefined && views.delete(view)) view.end(limit);
    }
    if ((availableMemoryBytes() ?? Number.POSITIVE_INFINITY) < minFreeMemoryBytes) endLargest();
  };

  /** One for each look, until there is enough free memory. */
  const endLargest = () => {
    const [largest] = [...views].sort(([, one], [, other]) => other.residentBytes - one.residentBytes);
    if (largest === undefined) return;
    views.delete(largest[0]);
    largest[0].end("memory");
  };

  const schedule = () => {
    if (timer !== undefined || views.size === 0 || stopped.signal.aborted) return;
    timer = setTimeout(async () => {
      await look();
      timer = undefined;
      schedule();
    }, intervalMs);
    timer.unref();
  };

  return {
    watch(view) {
      views.set(view, { residentBytes: 0 });
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

/** Notes the resident memory in `state`. */
async function exceededLimit(
  { proc, limits, processes, layer }: Watched,
  state: { residentBytes: number },
  signal: AbortSignal,
): Promise<CommandLimit | undefined> {
  const usage = processes();
  state.residentBytes = usage.residentBytes;
  if (usage.threads > limits.maxProcesses) return "processes";
  if (usage.processorSeconds > limits.maxProcessorSeconds) return "processor-time";
  const isOver = usage.residentBytes > limits.maxMemoryBytes;
  if (isOver && proportionalBytes(proc, usage.processes) > limits.maxMemoryBytes) return "memory";
  return layerLimit(await layer.check(signal));
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
