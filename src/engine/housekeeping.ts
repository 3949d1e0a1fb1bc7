/** Runs all periodic work. A missed round only causes a delay, because nothing in memory waits for it. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";

export interface HousekeepingOptions {
  /** Run one after the other. A failure does not stop the others. */
  sweeps: Record<string, (now: number) => Promise<unknown>>;
  ledger: Ledger;
  /** Run at startup and once an hour, one after the other. A failure does not stop the others. */
  cleanUps: (() => Promise<unknown>)[];
  log: Log;
}

export interface Housekeeping {
  start(): void;
  /** Starts no new work. Resolves when the running work has ended. */
  stop(): Promise<void>;
}

const sweepIntervalMs = 2_000;
const cleanUpIntervalMs = 3_600_000;
/** Ended records are kept for audits, and to recognize repeated deliveries. */
const maxKeptMs = 30 * 86_400_000;

export function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { ledger, log } = options;
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;
  let sweeping: Promise<void> | undefined;
  let cleaning: Promise<void> | undefined;

  async function sweep(): Promise<void> {
    for (const [what, work] of Object.entries(options.sweeps))
      await attempt(`the sweep of ${what}`, () => work(Date.now()));
  }

  /** Keeps the posts of active turns, which may wait for approval longer than `maxKeptMs`. */
  async function refreshPosts(before: number): Promise<void> {
    for (const turn of await ledger.list("turn", { states: ["running", "parked"] })) {
      if (turn.createdAt >= before) continue;
      for (const post of await ledger.list("post", { group: turn.id }))
        await ledger.transition("post", post.id, ["posted"], "posted");
    }
  }

  async function cleanUp(): Promise<void> {
    const before = Date.now() - maxKeptMs;
    await refreshPosts(before);
    await ledger.prune("turn", ["done", "failed", "stopped"], before);
    await ledger.prune("message", ["answered", "removed", "stopped"], before);
    await ledger.prune("call", ["done", "unknown"], before);
    await ledger.prune("post", ["posted"], before);
    await ledger.prune("question", ["closed"], before);
    await ledger.prune("schedule", ["ended"], before);
    await ledger.prune("rating", ["good", "bad", "said", "withdrawn"], before);
    await ledger.prune("answer", ["posted"], before);
    await ledger.prune("draft", ["kept", "discarded"], before);
    for (const work of options.cleanUps) await attempt("a clean-up", work);
  }

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    if (isStopped) return;
    try {
      await work();
    } catch (thrown) {
      log.error({ error: messageOf(thrown) }, `${what} failed`);
    }
  }

  /** Does nothing while the previous sweep is running. */
  function startSweep(): void {
    sweeping ??= sweep().finally(() => {
      sweeping = undefined;
    });
  }

  function startCleanUp(): void {
    cleaning ??= attempt("the clean-up", cleanUp).finally(() => {
      cleaning = undefined;
    });
  }

  return {
    start() {
      timers.push(setInterval(startSweep, sweepIntervalMs));
      timers.push(setInterval(startCleanUp, cleanUpIntervalMs));
      startCleanUp();
    },
    async stop() {
      isStopped = true;
      for (const timer of timers) clearInterval(timer);
      await Promise.all([sweeping, cleaning]);
    },
  };
}
