import { describe, expect, test } from "vitest";
import { createFairPool } from "../../src/lib/fair-pool.ts";

/** Works of one unit of time each. `tick` ends all that run, and resolves when the next ones have started. */
function createBench(slots: number) {
  const pool = createFairPool(slots);
  const started: string[] = [];
  let ends: (() => void)[] = [];
  return {
    pool,
    started,
    running: () => ends.length,
    add(owner: string, signal?: AbortSignal) {
      return pool.add(
        owner,
        () => {
          started.push(owner);
          return new Promise<void>((resolve) => ends.push(resolve));
        },
        signal,
      );
    },
    async tick() {
      const due = ends;
      ends = [];
      for (const end of due) end();
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
}

describe("a flood by one person", () => {
  test.each([4, 16, 100])("leaves room for others among %i slots: theirs start at once", (slots) => {
    const bench = createBench(slots);
    for (let number = 0; number < 1_000; number += 1) void bench.add("flood");
    expect(bench.running()).toBeLessThan(slots);
    void bench.add("ben");
    expect(bench.started.at(-1)).toBe("ben");
  });

  test.each([1, 2, 3])(
    "with %i slots, another's work starts at the next free one: at most twice the time",
    async (slots) => {
      const bench = createBench(slots);
      for (let number = 0; number < 1_000; number += 1) void bench.add("flood");
      void bench.add("ben");
      const before = bench.started.length;
      await bench.tick();
      expect(bench.started.slice(before)).toContain("ben");
    },
  );

  test("doesn't change the order of the others among themselves", async () => {
    const bench = createBench(1);
    for (let number = 0; number < 50; number += 1) void bench.add("flood");
    for (const owner of ["ann", "ben", "carl", "ann"]) void bench.add(owner);
    for (let ticks = 0; ticks < 8; ticks += 1) await bench.tick();
    expect(bench.started.slice(0, 7)).toEqual(["flood", "ann", "ben", "carl", "flood", "ann", "flood"]);
  });
});

test("everything runs, never more than there are slots", async () => {
  const bench = createBench(5);
  const all = Array.from({ length: 60 }, (_, index) => bench.add(`person ${index % 7}`));
  while (bench.running() > 0) {
    expect(bench.running()).toBeLessThanOrEqual(5);
    await bench.tick();
  }
  await Promise.all(all);
  await bench.pool.whenIdle();
  expect(bench.started).toHaveLength(60);
});

test("work that is aborted before its start never runs; a failure is its caller's, and frees the slot", async () => {
  const bench = createBench(1);
  const stop = new AbortController();
  const first = bench.pool.add("ann", () => Promise.reject(new Error("broken")));
  const left = bench.add("ann", stop.signal);
  stop.abort(new Error("not wanted"));
  await expect(first).rejects.toThrow("broken");
  await expect(left).rejects.toThrow("not wanted");
  await bench.pool.whenIdle();
  expect(bench.started).toEqual([]);
});

test("what is cleared does not keep the pool busy", async () => {
  const bench = createBench(1);
  for (let number = 0; number < 5; number += 1) void bench.add("ann");
  bench.pool.clear();
  const idle = bench.pool.whenIdle();
  await bench.tick();
  await idle;
  expect(bench.started).toEqual(["ann"]);
});
