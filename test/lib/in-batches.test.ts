import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { inBatches } from "../../src/lib/in-batches.ts";

async function collect<T>(source: AsyncIterable<T>): Promise<T[][]> {
  const batches: T[][] = [];
  for await (const batch of inBatches(source)) batches.push(batch);
  return batches;
}

test("what arrives together is one batch, and what arrives later is another", async () => {
  async function* source() {
    yield 1;
    yield 2;
    await setImmediate();
    await setImmediate();
    yield 3;
  }
  expect(await collect(source())).toEqual([[1, 2], [3]]);
  expect(await collect((async function* () {})())).toEqual([]);
});

test("a failure follows the items before it", async () => {
  async function* source() {
    yield 1;
    throw new Error("broken off");
  }
  const batches: number[][] = [];
  const read = async () => {
    for await (const batch of inBatches(source())) batches.push(batch);
  };
  await expect(read()).rejects.toThrow("broken off");
  expect(batches).toEqual([[1]]);
});

test("a source without end waits for its reader, and ends with it", async () => {
  let read = 0;
  let isClosed = false;
  async function* source() {
    try {
      for (;;) yield read++;
    } finally {
      isClosed = true;
    }
  }
  for await (const batch of inBatches(source())) {
    expect(batch.length).toBeLessThanOrEqual(256);
    if (read > 600) break;
  }
  await expect.poll(() => isClosed).toBe(true);
  expect(read).toBeLessThan(1_200);
});
