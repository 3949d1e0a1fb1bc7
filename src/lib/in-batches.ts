/**
 * Reads ahead, and passes on together what arrives in one turn of the event loop, because each step between a stream and
 * its reader costs the same for one item as for many.
 */
import { setImmediate } from "node:timers/promises";

/** Waits for its reader if it is so far ahead. */
const maxItems = 256;

/** Rejects like the source, after the items before. */
export async function* inBatches<T>(source: AsyncIterable<T>): AsyncGenerator<T[]> {
  const iterator = source[Symbol.asyncIterator]();
  let items: T[] = [];
  let changed = Promise.withResolvers<void>();
  let isOver = false;

  function wake(): void {
    changed.resolve();
    changed = Promise.withResolvers();
  }

  async function readAhead(): Promise<void> {
    for (;;) {
      const next = await iterator.next();
      if (next.done) return;
      items.push(next.value);
      if (items.length === 1) wake();
      while (items.length >= maxItems) await changed.promise;
    }
  }

  const reading = readAhead().finally(() => {
    isOver = true;
    wake();
  });
  // The reader gets the failure below.
  reading.catch(() => {});
  try {
    for (;;) {
      if (items.length === 0 && !isOver) await changed.promise;
      if (!isOver) await setImmediate();
      const batch = items;
      items = [];
      wake();
      if (batch.length > 0) yield batch;
      else if (isOver) return await reading;
    }
  } finally {
    if (!isOver) iterator.return?.().catch(() => {});
  }
}
