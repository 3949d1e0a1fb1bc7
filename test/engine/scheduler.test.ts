import { expect, test } from "vitest";
import { createScheduler } from "../../src/engine/conversation/scheduler.ts";

function createLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

test("a lane that is asked again while it finds no work looks once more", async () => {
  const latch = createLatch();
  let looks = 0;
  const lanes = createScheduler(1, async () => {
    looks++;
    if (looks === 1) await latch.opened;
    return false;
  });
  lanes.pump("c");
  await expect.poll(() => looks).toBe(1);
  lanes.pump("c");
  latch.open();
  await lanes.whenIdle();
  expect(looks).toBe(2);
});

test("a busy lane goes to the back of the line, so that another gets its turn", async () => {
  const order: string[] = [];
  const left = new Map([
    ["busy", 3],
    ["other", 1],
  ]);
  const lanes = createScheduler(1, async (conversationId) => {
    const count = left.get(conversationId) ?? 0;
    if (count === 0) return false;
    left.set(conversationId, count - 1);
    order.push(conversationId);
    return true;
  });
  lanes.pump("busy");
  lanes.pump("other");
  await lanes.whenIdle();
  expect(order.slice(0, 2)).toEqual(["busy", "other"]);
  expect(order).toHaveLength(4);
});

test("woken turns are in the lane's hands before it works", async () => {
  const woken: string[][] = [];
  const lanes = createScheduler(1, async (_conversationId, lane) => {
    woken.push(lane.wakes.splice(0));
    return false;
  });
  lanes.wake("c", "t1");
  lanes.wake("c", "t1");
  await lanes.whenIdle();
  expect(woken[0]).toEqual(["t1"]);
});
