/**
 * Metrics for Prometheus, counted from the event bus. Most installations are never asked for them, so their library loads
 * with the first request for them; until then, events wait.
 */
import type { Events, RemoraEvent } from "../ports/events.ts";
import type { Counters } from "./counters.ts";

/** Prometheus' text format. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** More events than this take more memory than the library. */
const maxWaitingEvents = 1_000;

export interface Metrics {
  text(): Promise<string>;
  close(): void;
}

export function createMetrics(events: Events): Metrics {
  let waiting: RemoraEvent[] = [];
  let counters: Counters | undefined;
  let loading: Promise<Counters> | undefined;

  async function open(): Promise<Counters> {
    if (counters !== undefined) return counters;
    try {
      const { createCounters } = await import("./counters.ts");
      counters = createCounters();
      for (const event of waiting) counters.record(event);
      return counters;
    } finally {
      waiting = [];
    }
  }

  function load(): Promise<Counters> {
    loading ??= open().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  const close = events.listen((event) => {
    if (counters !== undefined) {
      counters.record(event);
      return;
    }
    waiting.push(event);
    // If it can't be loaded, with too many files open, the events of that time are missing.
    if (waiting.length >= maxWaitingEvents) load().catch(() => {});
  });
  return { text: async () => (await load()).text(), close };
}
