/** Runs queues side by side, each in order. Failed work is retried until it succeeds, and blocks the work behind it. */
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";

export interface OrderedQueues {
  /** Returns false and drops the work if the queue is full. */
  add(name: string, work: () => Promise<void>): boolean;
  /** Adds the work even if the queue is full. */
  addLast(name: string, work: () => Promise<void>): void;
  whenIdle(): Promise<void>;
}

const pausesMs = [250, 1_000, 2_000, 5_000, 10_000, 30_000];
const maxWaiting = 500;

export function createOrderedQueues(log: Log, signal: AbortSignal): OrderedQueues {
  const queues = new Map<string, (() => Promise<void>)[]>();
  const running = new Set<Promise<void>>();

  async function run(name: string, waiting: (() => Promise<void>)[]): Promise<void> {
    for (let failures = 0; ; ) {
      const [work] = waiting;
      if (work === undefined || signal.aborted) break;
      try {
        await work();
        waiting.shift();
        failures = 0;
      } catch (thrown) {
        const wait = pausesMs[Math.min(failures++, pausesMs.length - 1)] ?? 0;
        log.error({ name, failures, error: messageOf(thrown) }, "could not keep inbound work; retrying");
        await pause(wait, signal);
      }
    }
    queues.delete(name);
  }

  function addLast(name: string, work: () => Promise<void>): void {
    const waiting = queues.get(name);
    if (waiting !== undefined) {
      waiting.push(work);
      return;
    }
    const first = [work];
    queues.set(name, first);
    const done = run(name, first).finally(() => running.delete(done));
    running.add(done);
  }

  return {
    add(name, work) {
      if ((queues.get(name)?.length ?? 0) >= maxWaiting) return false;
      addLast(name, work);
      return true;
    },
    addLast,
    async whenIdle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
