import { expect, test } from "vitest";
import { createScheduler } from "../../src/engine/conversation/scheduler.ts";

function createLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

test("a conversation that is scheduled again while it finds no work looks once more", async () => {
  const latch = createLatch();
  let looks = 0;
  const scheduler = createScheduler(1, async () => {
    looks++;
    if (looks === 1) await latch.opened;
    return false;
  });
  scheduler.schedule("c");
  await expect.poll(() => looks).toBe(1);
  scheduler.schedule("c");
  latch.open();
  await scheduler.whenIdle();
  expect(looks).toBe(2);
});

test("a busy conversation goes to the back of the queue, so that another gets its turn", async () => {
  const order: string[] = [];
  const left = new Map([
    ["busy", 3],
    ["other", 1],
  ]);
  const scheduler = createScheduler(1, async (conversationId) => {
    const count = left.get(conversationId) ?? 0;
    if (count === 0) return false;
    left.set(conversationId, count - 1);
    order.push(conversationId);
    return true;
  });
  scheduler.schedule("busy");
  scheduler.schedule("other");
  await scheduler.whenIdle();
  expect(order.slice(0, 2)).toEqual(["busy", "other"]);
  expect(order).toHaveLength(4);
});

test("a conversation has its woken turns before it works", async () => {
  const woken: string[][] = [];
  const scheduler = createScheduler(1, async (_conversationId, conversation) => {
    woken.push(conversation.wokenTurnIds.splice(0));
    return false;
  });
  scheduler.wake("c", "t1");
  scheduler.wake("c", "t1");
  await scheduler.whenIdle();
  expect(woken[0]).toEqual(["t1"]);
});

test("one person's flood of conversations doesn't hold up another person's", async () => {
  const started: string[] = [];
  let ends: (() => void)[] = [];
  const scheduler = createScheduler(8, async (conversationId) => {
    started.push(conversationId);
    await new Promise<void>((resolve) => ends.push(resolve));
    return false;
  });
  for (let number = 0; number < 200; number += 1) scheduler.schedule(`flood ${number}`, "test:ann");
  scheduler.schedule("question", "test:ben");
  expect(started.slice(6)).toEqual(["question"]);
  while (ends.length > 0) {
    const due = ends;
    ends = [];
    for (const end of due) end();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await scheduler.whenIdle();
  expect(started).toHaveLength(201);
});
