/** What the tests of the queue on BullMQ share. */
import type { BullTiming } from "../../src/queue/bull-queue.ts";

/** Quick enough for tests; what must hold holds at any pace. */
export const quickTiming: BullTiming = {
  lockMs: 100,
  stalledMs: 50,
  graceMs: 50,
  lookAgainMs: 50,
  sweepMs: 100,
  stopPatienceMs: 1_000,
  closePatienceMs: 500,
};
