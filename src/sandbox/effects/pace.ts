/** Splits synchronous work on files into time slices. For small files, this is much faster than the thread pool. */
import { setImmediate } from "node:timers/promises";

/** Call `if (pace.isDue()) await pace.rest();` between two files. */
export interface Pace {
  isDue(): boolean;
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
