/**
 * Scheduler: the order of work in each conversation, and one limit over all of them.
 *
 * In one lane at most one piece of work runs; lanes run side by side. After each piece a busy lane goes to the back of
 * the line, so that it starves no other. A lane exists only while it has work.
 */
import PQueue from "p-queue";
import { TurnAbort } from "../../lib/abort.ts";
import type { Lease } from "../../ports/cluster.ts";
import type { TurnRecord } from "../../ports/turn.ts";

export interface Lane {
  /** Turns to go on with before anything new, oldest first. */
  wakes: string[];
  /** What says that the conversation is worked on here and nowhere else. */
  lease?: Lease;
  running?: { turn: TurnRecord; controller: AbortController };
}

export interface Scheduler {
  /** Makes sure that the conversation is seen to. */
  pump(conversationId: string): void;
  /** Puts a turn that goes on in front of anything new. */
  wake(conversationId: string, turnId: string): void;
  running(conversationId: string): Lane["running"];
  /** There is or was a moment ago something to do. */
  isBusy(conversationId: string): boolean;
  whenIdle(): Promise<void>;
  /** Starts nothing new; what still runs after `graceMs` is aborted as `shutdown`. */
  close(graceMs: number): Promise<void>;
}

/** `work` does one piece and tells whether there was one; it must not throw. */
export function createScheduler(
  concurrency: number,
  work: (conversationId: string, lane: Lane) => Promise<boolean>,
): Scheduler {
  /** `isAskedAgain`: something came in while the lane was looking, so that "no work" may be out of date. */
  const lanes = new Map<string, Lane & { isBusy: boolean; isAskedAgain: boolean }>();
  const pool = new PQueue({ concurrency });
  let isClosing = false;

  function laneOf(conversationId: string) {
    const known = lanes.get(conversationId);
    if (known !== undefined) return known;
    const lane = { isBusy: false, isAskedAgain: false, wakes: [] as string[] };
    lanes.set(conversationId, lane);
    return lane;
  }

  function pump(conversationId: string): void {
    const lane = laneOf(conversationId);
    if (lane.isBusy) lane.isAskedAgain = true;
    if (lane.isBusy || isClosing) return;
    lane.isBusy = true;
    lane.isAskedAgain = false;
    void pool.add(async () => {
      const hadWork = await work(conversationId, lane);
      lane.isBusy = false;
      if (hadWork || lane.isAskedAgain) pump(conversationId);
      else lanes.delete(conversationId);
    });
  }

  return {
    pump,
    wake(conversationId, turnId) {
      const lane = laneOf(conversationId);
      if (!lane.wakes.includes(turnId)) lane.wakes.push(turnId);
      pump(conversationId);
    },
    isBusy: (conversationId) => lanes.has(conversationId),
    running: (conversationId) => lanes.get(conversationId)?.running,
    whenIdle: () => pool.onIdle(),
    async close(graceMs) {
      isClosing = true;
      pool.clear();
      const timer = setTimeout(() => {
        for (const lane of lanes.values()) lane.running?.controller.abort(new TurnAbort("shutdown"));
      }, graceMs);
      await pool.onIdle();
      clearTimeout(timer);
    },
  };
}
