/** Slack's cursors in one shared record: what several processes write must not undo each other. */
import { expect, test } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createWithLock } from "../../../src/lib/with-lock.ts";
import { createCursors } from "../../../src/platforms/slack/inbound/cursors.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createInMemoryStore } from "../../doubles/in-memory-store.ts";

const ts = (second: number) => `${1_700_000_000 + second}.000000`;

/** `begin` starts another process with the same store. A write pauses between its read and its write. */
function createProcesses() {
  const kept = createInMemoryStore();
  const store: Store = {
    ...kept,
    async get(key) {
      const value = await kept.get(key);
      await new Promise((resolve) => setImmediate(resolve));
      return value;
    },
  };
  const withLock = createWithLock(createInMemoryLeases());
  async function begin() {
    const cursors = createCursors(store, silentLog, withLock);
    await cursors.load();
    const hear = (channel: string, second: number, thread: number | null = null) => {
      cursors.heard(channel, ts(second), thread === null ? null : ts(thread));
      cursors.kept(channel, ts(second));
    };
    return { ...cursors, hear };
  }
  return { begin };
}

test("two processes write at once: the newest of each conversation remains, and every thread", async () => {
  const { begin } = createProcesses();
  const [one, other] = [await begin(), await begin()];
  one.hear("C1", 1, 1);
  other.hear("C2", 2, 2);
  one.hear("C3", 5, 3);
  other.hear("C3", 4, 4);
  await Promise.all([one.flush(), other.flush()]);
  one.hear("C2", 6, 6);
  other.hear("C1", 3, 3);
  await Promise.all([other.flush(), one.flush()]);
  const next = await begin();
  expect(next.channels().map((channel) => [channel, next.hold(channel)])).toEqual([
    ["C2", ts(6)],
    ["C3", ts(5)],
    ["C1", ts(3)],
  ]);
  expect(next.threadsOf("C1")).toEqual([ts(3), ts(1)]);
  expect(next.threadsOf("C2")).toEqual([ts(6), ts(2)]);
  expect(next.threadsOf("C3")).toEqual([ts(3), ts(4)]);
});

test("a conversation that one process forgets stays forgotten while the other hears elsewhere", async () => {
  const { begin } = createProcesses();
  const one = await begin();
  one.hear("C1", 1);
  one.hear("C2", 2);
  await one.flush();
  const other = await begin();
  one.forget("C1");
  await one.flush();
  other.hear("C2", 3);
  await other.flush();
  expect((await begin()).channels()).toEqual(["C2"]);
});

test.each(["first", "last"])(
  "a message that is not stored yet holds its conversation back if its process writes %s",
  async (place) => {
    const { begin } = createProcesses();
    const [one, other] = [await begin(), await begin()];
    one.hear("C1", 1);
    one.heard("C1", ts(2), null);
    other.hear("C1", 3);
    for (const each of place === "first" ? [one, other] : [other, one]) await each.flush();
    const held = (await begin()).hold("C1") ?? "";
    expect(Number(held)).toBeLessThan(Number(ts(2)));
    one.kept("C1", ts(2));
    await one.flush();
    expect((await begin()).hold("C1")).toBe(ts(3));
  },
);

test("what a process had not stored when it was killed is held back until another has fetched it", async () => {
  const { begin } = createProcesses();
  const [killed, other] = [await begin(), await begin()];
  killed.hear("C1", 1);
  killed.heard("C1", ts(2), null);
  await killed.flush();
  other.hear("C1", 3);
  await other.flush();
  const next = await begin();
  expect(Number(next.newest())).toBeLessThan(Number(ts(2)));
  next.hear("C1", 4);
  await next.flush();
  const held = (await begin()).hold("C1") ?? "";
  expect(Number(held)).toBeLessThan(Number(ts(2)));
  expect(next.hold("C1")).toBe(held);
  next.release("C1");
  await next.flush();
  other.hear("C1", 5);
  await other.flush();
  expect((await begin()).hold("C1")).toBe(ts(5));
});
