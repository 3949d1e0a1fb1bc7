/**
 * States that replace each other, shown with a least time between them: edits of a message while its text streams in.
 *
 *   offer   the first state is shown at once; of those that come too soon only the newest waits
 *   stop    nothing waits any more, and what is under way has ended: whoever goes on alone overtakes nothing
 *
 * The newest state is always shown in the end: one that failed is tried again, ever more slowly, unless a newer one has taken its place.
 * The time is counted from the end of a show, so that waiting for a rate limit is no reason for a second show right after it.
 */

export interface PacedOptions<T> {
  /** Least time between the end of a show and the next one, in milliseconds. */
  everyMs: number;
  /** One at a time. Rejects when the state could not be shown. */
  show(state: T): Promise<void>;
  onFailure(thrown: unknown): void;
  now?: () => number;
}

export interface Paced<T> {
  /** Resolves when the state was shown, if that begins at once, else when it is taken. Never rejects. */
  offer(state: T): Promise<void>;
  stop(): Promise<void>;
}

const longestPauseMs = 30_000;

export function createPaced<T>({ everyMs, show, onFailure, now = Date.now }: PacedOptions<T>): Paced<T> {
  let waiting: { state: T } | undefined;
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let nextAt = Number.NEGATIVE_INFINITY;
  let failures = 0;

  async function run(state: T): Promise<void> {
    try {
      await show(state);
      failures = 0;
      nextAt = now() + everyMs;
    } catch (thrown) {
      failures++;
      waiting ??= { state };
      nextAt = now() + Math.min(everyMs * 2 ** failures, longestPauseMs);
      onFailure(thrown);
    }
    underWay = undefined;
    schedule();
  }

  function begin(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const next = waiting;
    waiting = undefined;
    if (next !== undefined) underWay = run(next.state);
    return underWay ?? Promise.resolve();
  }

  function schedule(): void {
    if (waiting === undefined || underWay !== undefined || timer !== undefined) return;
    timer = setTimeout(() => void begin(), Math.max(0, nextAt - now()));
  }

  return {
    offer(state) {
      waiting = { state };
      if (underWay === undefined && now() >= nextAt) return begin();
      schedule();
      return Promise.resolve();
    },
    async stop() {
      waiting = undefined;
      clearTimeout(timer);
      timer = undefined;
      await underWay;
      // A state that failed meanwhile waits again.
      waiting = undefined;
      clearTimeout(timer);
      timer = undefined;
      failures = 0;
    },
  };
}
