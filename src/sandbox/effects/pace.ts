/** Time slices for synchronous work on many files. For small files, synchronous calls are much faster than the thread pool. */
import { setImmediate } from "node:timers/promises";

/** Call `if (pace.isDue()) await pace.rest();` between two files. */
export interface Pace {
  isDue(): boolean;
  /** Lets the event loop run. Rejects with the signal's reason after an abort. */
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
