/** Many requests of one process wait for a slot that all processes share. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSharedSlots, maxSharedWaitMs } from "../../../src/platforms/discord/api/shared-slots.ts";
import type { RateBudget } from "../../../src/ports/rate-budget.ts";

const pollMs = 25;
const never = new AbortController().signal;

let isFree: boolean;
let held: Map<string, number>;
let asks: number;
let sent: string[];
let budget: RateBudget;

beforeEach(() => {
  vi.useFakeTimers();
  isFree = false;
  held = new Map();
  asks = 0;
  sent = [];
  budget = {
    async take(bucket, rate) {
      if (rate === undefined) return held.get(bucket) ?? 0;
      asks += 1;
      return isFree ? 0 : pollMs;
    },
    hold() {},
  };
});
afterEach(() => void vi.useRealTimers());

function ask(slot: ReturnType<typeof createSharedSlots>, method: string, route: string, signal = never): Promise<void> {
  return slot(method, route, signal).then(
    () => void sent.push(route),
    () => void sent.push(`aborted ${route}`),
  );
}

const routes = (count: number) => Array.from({ length: count }, (_, index) => `/channels/${index}/messages`);

test("of a thousand requests, only the first asks, and after a long wait they are sent one by one", async () => {
  const slot = createSharedSlots(budget);
  const all = routes(1_000);
  for (const route of all) void ask(slot, "POST", route);
  await vi.advanceTimersByTimeAsync(maxSharedWaitMs - pollMs);
  expect(sent).toEqual([]);
  expect(asks).toBeLessThanOrEqual(maxSharedWaitMs / pollMs);
  await vi.advanceTimersByTimeAsync(2 * pollMs);
  expect(sent).toEqual(all.slice(0, 1));
  isFree = true;
  await vi.advanceTimersByTimeAsync(pollMs);
  expect(sent).toEqual(all);
});

test("a steady stream of writes does not hold back a read", async () => {
  const slot = createSharedSlots(budget);
  isFree = true;
  let written = 0;
  let isRead = false;
  const writing = Array.from({ length: 3 }, async (_, writer) => {
    for (; !isRead && written < 1_000; written++) await ask(slot, "POST", `/channels/${writer}/messages`);
  });
  await ask(slot, "GET", "/channels/9/messages");
  isRead = true;
  await Promise.all(writing);
  expect(written).toBeLessThan(10);
});

test("a route that must wait does not hold up others, and is sent after half a minute at the latest", async () => {
  const slot = createSharedSlots(budget);
  isFree = true;
  const [waits = "", other = ""] = routes(2);
  held.set("POST channels 0 messages", 3_600_000);
  void ask(slot, "POST", waits);
  void ask(slot, "POST", other);
  await vi.advanceTimersByTimeAsync(pollMs);
  expect(sent).toEqual([other]);
  await vi.advanceTimersByTimeAsync(maxSharedWaitMs);
  expect(sent).toEqual([other, waits]);
});

test("an aborted request leaves the line", async () => {
  const slot = createSharedSlots(budget);
  const [first = "", second = "", third = ""] = routes(3);
  const controller = new AbortController();
  void ask(slot, "POST", first);
  void ask(slot, "POST", second, controller.signal);
  void ask(slot, "POST", third);
  await vi.advanceTimersByTimeAsync(pollMs);
  controller.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual([`aborted ${second}`]);
  isFree = true;
  await vi.advanceTimersByTimeAsync(pollMs);
  expect(sent).toEqual([`aborted ${second}`, first, third]);
});

test("what a click asks about a person and a channel goes before all posts that wait", async () => {
  const slot = createSharedSlots(budget);
  for (const route of routes(100)) void ask(slot, "POST", route);
  const asked = ["/guilds/1/members/2", "/channels/3", "/guilds/1/roles"];
  for (const route of asked) void ask(slot, "GET", route);
  isFree = true;
  await vi.advanceTimersByTimeAsync(pollMs);
  // The first post was at the head of the line already.
  expect(sent.slice(0, 4)).toEqual(["/channels/0/messages", ...asked]);
});
