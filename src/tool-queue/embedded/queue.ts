/**
 * The tool queue of a single machine. Each call is a job in the ledger (call-store.ts) that outlives the process.
 *
 *   1. plan the job, wait for a free slot (shared fairly among people), set its state to `started` by compare-and-set, and only then run the tool
 *   2. after a transient failure, or any failure of an idempotent tool, wait and start again; otherwise end the job
 *   3. after a crash, start again only if the tool is idempotent; otherwise end the job as `interrupted`
 *
 * If the abort cause is `shutdown`, the entry stays unchanged, and the job continues when it is requested again after
 * the next start.
 * Brain name: motor.
 */
import { abortCauseOf, TurnAbort } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import { createFairPool } from "../../lib/fair-pool.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ToolQueue, ToolResult } from "../../ports/tool.ts";
import { type ActiveJob, createActiveJobs } from "../calls/active-jobs.ts";
import { type CallExecutorOptions, createCallExecutor } from "../calls/call-executor.ts";
import { type CallRecordEntry, createCallRecord, retryInMs } from "../calls/call-store.ts";
import { cutOffText, resultOf, suspended } from "../calls/outcome.ts";

export interface EmbeddedQueueOptions extends CallExecutorOptions {
  ledger: Ledger;
  /** The maximum number of attempts at a time. A job that waits for a retry does not count. */
  concurrency: number;
}

export function createEmbeddedQueue(options: EmbeddedQueueOptions): ToolQueue {
  const record = createCallRecord(options.ledger);
  const steps = createCallExecutor(record, options);
  const pool = createFairPool(options.concurrency);
  const activeJobs = createActiveJobs(work, options.log);

  async function work(active: ActiveJob): Promise<ToolResult> {
    const { job, controller } = active;
    const found = await record.plan(job);
    for (let entry = found; ; ) {
      const { state, body } = entry;
      if (state === "done" || state === "unknown") {
        return body.result ?? resultOf(job, entry, "interrupted", cutOffText(job));
      }
      if (activeJobs.isClosing()) controller.abort(new TurnAbort("shutdown"));
      if (controller.signal.aborted && abortCauseOf(controller.signal) === "shutdown") return suspended(job, entry);
      if (state === "started" && entry === found) steps.reportStalled(job, entry);
      if (controller.signal.aborted || (state === "started" && !steps.mayRunAgain(job, entry))) {
        entry = await steps.giveUp(job, entry);
        continue;
      }
      if (state === "waiting") await pause(retryInMs(entry), controller.signal);
      entry = await inPlace(active, entry);
    }
  }

  async function inPlace(active: ActiveJob, entry: CallRecordEntry): Promise<CallRecordEntry> {
    const { signal } = active.controller;
    if (signal.aborted) return entry;
    // This ends only the wait for a slot; a running attempt handles the job's signal itself.
    const queued = new AbortController();
    const leave = () => queued.abort();
    signal.addEventListener("abort", leave, { once: true });
    const begin = async () => {
      signal.removeEventListener("abort", leave);
      active.isRunning = true;
      try {
        return await steps.attempt(active.job, entry, signal, () => {
          active.hasRun = true;
        });
      } finally {
        active.isRunning = false;
      }
    };
    try {
      return await pool.add(active.job.scope.requester.id, begin, queued.signal);
    } catch (thrown) {
      if (queued.signal.aborted) return entry;
      throw thrown;
    }
  }

  return {
    run: activeJobs.run,
    counts() {
      const jobs = activeJobs.values();
      const running = jobs.filter((active) => active.isRunning).length;
      return { waiting: jobs.length - running, running };
    },
    async close() {
      activeJobs.close();
      await Promise.allSettled(activeJobs.values().map((active) => active.result));
    },
  };
}
