/**
 * Work on many files in slices. System calls on small files are much cheaper in one go than through the thread pool, and
 * between two slices the event loop turns.
 */
import { setImmediate } from "node:timers/promises";

/** `if (pace.isDue()) await pace.rest();` between two files. */
export interface Pace {
  isDue(): boolean;
  /** Lets the event loop turn; throws the signal's reason when it has aborted. */
  rest(): Promise<void>;
}

const maxSliceMs = 8;

export function createPace(signal?: AbortSignal): Pace {
  signal?.throwIfAborted();
  let sliceStart = performance.now();
  return {
    isDue: () => performance.now() - sliceStart > maxSliceMs,
    async rest() {
      await setImmediate();
      signal?.throwIfAborted();
      sliceStart = performance.now();
    },
  };
}
