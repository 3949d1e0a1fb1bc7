import { expect, test } from "vitest";
import { createTimedCache } from "../../src/lib/timed-cache.ts";

test("an answer is asked for once per key while it is fresh, also while the first request is under way", async () => {
  let [at, asked] = [0, 0];
  const cached = createTimedCache<number>({ keepMs: 100, maxEntries: 2, now: () => at });
  const load = async () => ++asked;
  expect(await Promise.all([cached("a", load), cached("a", load)])).toEqual([1, 1]);
  expect(await cached("b", load)).toBe(2);
  at = 99;
  expect(await cached("a", load)).toBe(1);
  at = 100;
  expect(await cached("a", load)).toBe(3);
  await cached("c", load);
  expect(await cached("b", load)).toBe(5);
});
