import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createThrottledUpdates } from "../../../src/platforms/shared/throttled-updates.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function record(show: (state: string) => Promise<void> = async () => {}) {
  const shown: { state: string; at: number }[] = [];
  const failures: unknown[] = [];
  const start = Date.now();
  const updates = createThrottledUpdates<string>({
    minIntervalMs: 1_000,
    async show(state) {
      await show(state);
      shown.push({ state, at: Date.now() - start });
    },
    onFailure: (thrown) => failures.push(thrown),
  });
  return { updates, shown, failures };
}

test("the first state is shown at once, and offer resolves when it was", async () => {
  const { updates, shown } = record();
  await updates.offer("one");
  expect(shown).toEqual([{ state: "one", at: 0 }]);
});

test("of states that come too soon the newest is shown when its time has come", async () => {
  const { updates, shown } = record();
  for (const state of ["one", "two", "three", "four"]) void updates.offer(state);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(shown).toEqual([
    { state: "one", at: 0 },
    { state: "four", at: 1_000 },
  ]);
});

test("a show that took long, waiting for a rate limit, is followed by a whole pause", async () => {
  const { updates, shown } = record((state) => new Promise((done) => setTimeout(done, state === "one" ? 5_000 : 0)));
  void updates.offer("one");
  await vi.advanceTimersByTimeAsync(100);
  void updates.offer("two");
  await vi.advanceTimersByTimeAsync(10_000);
  const [one, two] = shown;
  expect(one?.at).toBe(5_000);
  expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
});

test("after a pause the next state does not wait", async () => {
  const { updates, shown } = record();
  await updates.offer("one");
  await vi.advanceTimersByTimeAsync(1_000);
  await updates.offer("two");
  expect(shown.map(({ at }) => at)).toEqual([0, 1_000]);
});

test("a state that could not be shown is tried again, and a newer one takes its place", async () => {
  let isDown = true;
  const { updates, shown, failures } = record(async () => {
    if (isDown) throw new Error("down");
  });
  await updates.offer("one");
  await vi.advanceTimersByTimeAsync(2_500);
  expect(failures).toHaveLength(2);
  void updates.offer("two");
  isDown = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown.map(({ state }) => state)).toEqual(["two"]);
});

test("after stop nothing is shown, also not what failed meanwhile, until something is offered again", async () => {
  const { updates, shown } = record(async (state) => {
    if (state === "bad") throw new Error("down");
  });
  await updates.offer("one");
  void updates.offer("two");
  await updates.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  void updates.offer("bad");
  await updates.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown.map(({ state }) => state)).toEqual(["one"]);
  await updates.offer("three");
  expect(shown.map(({ state }) => state)).toEqual(["one", "three"]);
});
