/**
 * What is done by the clock, and nothing else is: expired approvals, schedules that are due and messages left lying every
 * two seconds, old records every hour. Nothing in memory waits for any of it, so a missed round costs only time.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";

export interface HousekeepingOptions {
  /** Done every two seconds, one after the other; one that fails does not keep the others from it. */
  sweeps: Record<string, (now: number) => Promise<unknown>>;
  ledger: Ledger;
  /** Cleaned up once an hour and at the start, one after the other. */
  cleanUps: (() => Promise<unknown>)[];
  log: Log;
}

export interface Housekeeping {
  start(): void;
  stop(): void;
}

const sweepEveryMs = 2_000;
const cleanUpEveryMs = 3_600_000;
/** Ended work stays in the ledger for audit and for recognising what is delivered again. */
const keptMs = 30 * 86_400_000;

export function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { ledger, log } = options;
  const timers: NodeJS.Timeout[] = [];

  let isSweeping = false;

  async function sweep(): Promise<void> {
    if (isSweeping) return;
    isSweeping = true;
    for (const [what, work] of Object.entries(options.sweeps))
      await attempt(`the sweep of ${what}`, () => work(Date.now()));
    isSweeping = false;
  }

  /** A turn that waits for longer than that, for an approval without an expiry, must still find what it has posted. */
  async function keepPosts(before: number): Promise<void> {
    for (const turn of await ledger.list("turn", { states: ["running", "parked"] })) {
      if (turn.createdAt >= before) continue;
      for (const post of await ledger.list("post", { group: turn.id }))
        await ledger.transition("post", post.id, ["posted"], "posted");
    }
  }

  async function cleanUp(): Promise<void> {
    const before = Date.now() - keptMs;
    await keepPosts(before);
    await ledger.prune("turn", ["done", "failed", "stopped"], before);
    await ledger.prune("message", ["answered", "removed"], before);
    await ledger.prune("call", ["done", "unknown"], before);
    await ledger.prune("post", ["posted"], before);
    await ledger.prune("question", ["closed"], before);
    await ledger.prune("schedule", ["ended"], before);
    await ledger.prune("draft", ["kept", "discarded"], before);
    for (const work of options.cleanUps) await work();
  }

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      log.error({ error: messageOf(thrown) }, `${what} failed`);
    }
  }

  return {
    start() {
      timers.push(setInterval(() => void sweep(), sweepEveryMs));
      timers.push(setInterval(() => void attempt("the clean-up", cleanUp), cleanUpEveryMs));
      void attempt("the clean-up", cleanUp);
    },
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
