/**
 * Shows states that replace each other, such as a growing message, with a minimum time between updates. `offer` shows
 * the first state immediately; if more come too soon, it stores only the newest of them. `stop` drops the waiting state
 * and resolves when the running update has ended. The newest state is always shown in the end: a failed update is
 * retried with growing pauses, unless a newer state has replaced it. Pauses start when an update ends, so an update
 * that waited for a rate limit is not immediately followed by another.
 */
import { leftOf } from "../../lib/elapsed.ts";

export interface ThrottledUpdatesOptions<T> {
  /** From the end of an update to the start of the next one. */
  minIntervalMs: number;
  /** Called for one state at a time. Rejects if the state could not be shown. */
  show(state: T): Promise<void>;
  onFailure(thrown: unknown): void;
  now?: () => number;
}

export interface ThrottledUpdates<T> {
  /** Never rejects. Resolves when the state was shown if its update starts immediately, else when it is queued. */
  offer(state: T): Promise<void>;
  stop(): Promise<void>;
}

const maxPauseMs = 30_000;

export function createThrottledUpdates<T>({
  minIntervalMs,
  show,
  onFailure,
  now = Date.now,
}: ThrottledUpdatesOptions<T>): ThrottledUpdates<T> {
  let waiting: { state: T } | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** After the last update. */
  let pause = { ms: 0, since: 0 };
  let failures = 0;

  async function run(state: T): Promise<void> {
    try {
      await show(state);
      failures = 0;
      pause = { ms: minIntervalMs, since: now() };
    } catch (thrown) {
      failures++;
      waiting ??= { state };
      pause = { ms: Math.min(minIntervalMs * 2 ** failures, maxPauseMs), since: now() };
      onFailure(thrown);
    }
    running = undefined;
    schedule();
  }

  function begin(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const next = waiting;
    waiting = undefined;
    if (next !== undefined) running = run(next.state);
    return running ?? Promise.resolve();
  }

  function schedule(): void {
    if (waiting === undefined || running !== undefined || timer !== undefined) return;
    timer = setTimeout(() => void begin(), leftOf(pause.ms, pause.since, now()));
  }

  return {
    offer(state) {
      waiting = { state };
      if (running === undefined && leftOf(pause.ms, pause.since, now()) === 0) return begin();
      schedule();
      return Promise.resolve();
    },
    async stop() {
      waiting = undefined;
      clearTimeout(timer);
      timer = undefined;
      await running;
      // If the running update failed, it put its state back into `waiting`. Drop it again.
      waiting = undefined;
      clearTimeout(timer);
      timer = undefined;
      failures = 0;
    },
  };
}
