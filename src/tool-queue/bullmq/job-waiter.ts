/**
 * Waits for the end of one job: plans and adds it, then checks its entry on every change. If a person stops the call
 * while no attempt runs, the job ends immediately. Otherwise the process that runs the attempt is notified repeatedly,
 * until the job ends or the time limit is reached.
 */
import { type AbortCause, abortCauseOf, TurnAbort } from "../../lib/abort.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Bus } from "../../ports/cluster.ts";
import type { ToolJob, ToolResult } from "../../ports/tool.ts";
import type { ActiveJob } from "../calls/active-jobs.ts";
import type { CallExecutor } from "../calls/call-executor.ts";
import type { CallRecord, CallRecordEntry } from "../calls/call-store.ts";
import { cutOffText, firstLine, resultOf, suspended, textOf, unstarted } from "../calls/outcome.ts";
import type { Backlog } from "./backlog.ts";
import type { Runner } from "./runner.ts";

export interface JobWaiterOptions {
  record: CallRecord;
  steps: CallExecutor;
  backlog: Backlog;
  runner: Runner | undefined;
  bus: Bus;
  maxStopMs: number;
  isClosing: () => boolean;
  onError: (thrown: unknown) => void;
}

export interface JobWaiter {
  job: ToolJob;
  entry: CallRecordEntry | undefined;
  tell(entry: CallRecordEntry): void;
  refuse(thrown: unknown): void;
  /** Call only once. Rejects if the ledger or Redis refuses the job. */
  follow(): Promise<ToolResult>;
}

const repeatStopMs = 1_000;

export function createJobWaiter({ job, controller }: ActiveJob, options: JobWaiterOptions): JobWaiter {
  const { record, steps, backlog, runner, bus } = options;
  const { signal } = controller;
  let wake = () => {};
  let isTold = false;
  let refused: { thrown: unknown } | undefined;
  let unqueued: { thrown: unknown } | undefined;
  let abortedAt: number | undefined;

  function rouse(): void {
    isTold = true;
    wake();
  }

  function abort(): void {
    // Cancel immediately, because an attempt that is just starting in this process can still be prevented.
    runner?.cancel(job.id, abortCauseOf(signal));
    rouse();
  }

  async function news(ms?: number): Promise<void> {
    if (!isTold) {
      const told = Promise.withResolvers<void>();
      wake = told.resolve;
      const timer = ms === undefined ? undefined : setTimeout(told.resolve, ms);
      await told.promise;
      clearTimeout(timer);
    }
    isTold = false;
  }

  function isHere(): boolean {
    return runner?.isRunning(job.id) === true;
  }

  async function stop(entry: CallRecordEntry, cause: AbortCause): Promise<void> {
    abortedAt ??= Date.now();
    if (entry.state !== "started") {
      follower.entry = await steps.giveUp(job, entry);
      return backlog.remove(job);
    }
    if (runner?.cancel(job.id, cause)) return await news();
    if (Date.now() - abortedAt > options.maxStopMs) {
      follower.entry = await steps.giveUp(job, entry);
      return;
    }
    bus.publish({ type: "cancel-job", jobId: job.id, cause });
    if (entry.body.stop === undefined) follower.entry = await record.requestStop(entry, cause);
    await news(Math.min(repeatStopMs, options.maxStopMs));
  }

  /** Ends a call whose job Redis does not accept, because no worker will get it. */
  async function endUnqueued(entry: CallRecordEntry, thrown: unknown): Promise<void> {
    unqueued = undefined;
    if (entry.state === "started") return;
    const text = textOf.unqueued(firstLine(messageOf(thrown)));
    follower.entry = await steps.finish(job, entry, "done", resultOf(job, entry, "failed", text));
  }

  async function plan(): Promise<void> {
    const planned = record.propose(job);
    if (!signal.aborted) {
      backlog.add(job, signal).catch((thrown: unknown) => {
        if (signal.aborted) return;
        unqueued = { thrown };
        rouse();
      });
    }
    const found = await planned;
    follower.entry ??= found;
    if (found !== undefined && found.state !== "done" && found.state !== "unknown" && !signal.aborted) {
      backlog.ensure(job, found).catch(options.onError);
    }
  }

  async function step(): Promise<ToolResult | undefined> {
    const { entry } = follower;
    if (entry?.state === "done" || entry?.state === "unknown") {
      return entry.body.result ?? resultOf(job, entry, "interrupted", cutOffText(job));
    }
    if (refused !== undefined) throw refused.thrown;
    if (options.isClosing() && !isHere()) controller.abort(new TurnAbort("shutdown"));
    if (signal.aborted && abortCauseOf(signal) === "shutdown") {
      if (runner?.cancel(job.id, "shutdown")) return void (await news());
      return entry === undefined ? unstarted(job, "interrupted", textOf.notRun(true)) : suspended(job, entry);
    }
    if (!signal.aborted && unqueued === undefined) return void (await news());
    const seen = entry ?? (await record.look(job.id));
    if (seen === undefined) return void (await news(repeatStopMs));
    if (signal.aborted) await stop(seen, abortCauseOf(signal));
    else if (unqueued !== undefined) await endUnqueued(seen, unqueued.thrown);
    return undefined;
  }

  const follower: JobWaiter = {
    job,
    entry: undefined,
    tell(entry) {
      follower.entry = entry;
      rouse();
    },
    refuse(thrown) {
      refused = { thrown };
      rouse();
    },
    async follow() {
      signal.addEventListener("abort", abort);
      try {
        await plan();
        for (;;) {
          const result = await step();
          if (result !== undefined) return result;
        }
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
  return follower;
}
