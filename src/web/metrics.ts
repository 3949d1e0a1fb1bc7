/** Metrics for Prometheus, counted from the event bus. Their library loads after the start; until then, events wait. */
import type { Events, RemoraEvent } from "../ports/events.ts";
import type { Counters } from "./counters.ts";

/** Prometheus' text format. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

export interface Metrics {
  load(): Promise<unknown>;
  text(): Promise<string>;
  close(): void;
}

export function createMetrics(events: Events): Metrics {
  let early: RemoraEvent[] = [];
  let counters: Counters | undefined;
  let loading: Promise<Counters> | undefined;

  async function open(): Promise<Counters> {
    const { createCounters } = await import("./counters.ts");
    counters = createCounters();
    for (const event of early) counters.record(event);
    early = [];
    return counters;
  }

  function load(): Promise<Counters> {
    loading ??= open();
    return loading;
  }

  const close = events.listen((event) => {
    if (counters === undefined) early.push(event);
    else counters.record(event);
  });
  return { load, text: async () => (await load()).text(), close };
}
