/**
 * Work in order: one piece at a time in a lane, lanes side by side. What fails is done again, ever more slowly, until it succeeds or
 * everything ends; what comes after it waits. A lane that gets too long says so instead of growing without end.
 */

import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";

export interface OrderedLanes {
  /** False when the lane is full: the work is not taken. */
  add(lane: string, work: () => Promise<void>): boolean;
  /** Also to a full lane. */
  addLast(lane: string, work: () => Promise<void>): void;
  /** Resolves when nothing waits any more. */
  whenIdle(): Promise<void>;
}

const pausesMs = [250, 1_000, 2_000, 5_000, 10_000, 30_000];
const mostWaiting = 500;

export function createOrderedLanes(log: Log, signal: AbortSignal): OrderedLanes {
  const lanes = new Map<string, (() => Promise<void>)[]>();
  const running = new Set<Promise<void>>();

  async function run(lane: string, waiting: (() => Promise<void>)[]): Promise<void> {
    for (let failures = 0; ; ) {
      const [work] = waiting;
      if (work === undefined || signal.aborted) break;
      try {
        await work();
        waiting.shift();
        failures = 0;
      } catch (thrown) {
        const wait = pausesMs[Math.min(failures++, pausesMs.length - 1)] ?? 0;
        log.error({ lane, failures, error: messageOf(thrown) }, "could not keep inbound work; retrying");
        await pause(wait, signal);
      }
    }
    lanes.delete(lane);
  }

  function addLast(lane: string, work: () => Promise<void>): void {
    const waiting = lanes.get(lane);
    if (waiting !== undefined) {
      waiting.push(work);
      return;
    }
    const first = [work];
    lanes.set(lane, first);
    const done = run(lane, first).finally(() => running.delete(done));
    running.add(done);
  }

  return {
    add(lane, work) {
      if ((lanes.get(lane)?.length ?? 0) >= mostWaiting) return false;
      addLast(lane, work);
      return true;
    },
    addLast,
    async whenIdle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
