/**
 * The lifecycle of one job in this process. BullMQ delivers a job again if its worker was killed, if its event loop was
 * blocked for longer than the lock lasts, or if Redis was unreachable. So the ledger decides:
 *
 *   1. only the process that sets the call's state to `started` by compare-and-set runs the tool
 *   2. a call that has ended needs nothing; a call that needs a retry waits until it is due
 *   3. if a live process has `started` the call, check again later; otherwise run the tool again if it may run twice,
 *      or end the call with an unknown outcome
 */
import { abortCauseOf } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import { codeOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolJob } from "../../ports/tool.ts";
import type { CallExecutor } from "../calls/call-executor.ts";
import { type CallRecord, type CallRecordEntry, retryInMs, runnerOf, type SeenCall } from "../calls/call-store.ts";
import type { Takeover } from "./takeover.ts";

/**
 * - `later`: nothing was done; try again at `at` (milliseconds since 1970).
 * - `back`: the call was released for another process or the next start.
 * - `gone`: the call has no record, so it does not run.
 */
export type JobOutcome =
  | { type: "ended"; entry: CallRecordEntry }
  | { type: "retry"; entry: CallRecordEntry }
  | { type: "later"; at: number }
  | { type: "back"; entry?: CallRecordEntry }
  | { type: "gone" };

type NextStep = { type: "attempt" } | { type: "give-up" };

export interface JobLifecycleOptions {
  record: CallRecord;
  steps: CallExecutor;
  takeover: Takeover;
  runner: string;
  lookAgainMs: number;
  isStopping: () => boolean;
  log: Log;
}

/** A shorter wait is not worth a round trip to Redis, so it happens in this process. */
const minWaitMs = 50;
/** A job may arrive before its record, because both are written at the same time. */
const recordWaitsMs = [5, 20, 100, 400, 1_500];

/** Rejects if the ledger can't record the step; then the tool has not run. */
export type RunJob = (job: ToolJob, signal: AbortSignal, begun: () => void) => Promise<JobOutcome>;

export function createJobLifecycle({ record, steps, takeover, runner, ...options }: JobLifecycleOptions): RunJob {
  async function firstLook(
    job: ToolJob,
    attempt: (seen: SeenCall) => Promise<CallRecordEntry>,
    signal: AbortSignal,
  ): Promise<CallRecordEntry | undefined> {
    for (const waitMs of [...recordWaitsMs, undefined]) {
      try {
        // Usually the call was just planned, so this is the only ledger step before the tool runs.
        if (!signal.aborted && !options.isStopping()) {
          return await attempt({ id: job.id, state: "planned", body: { attempts: 0 } });
        }
        const entry = await record.look(job.id);
        if (entry !== undefined) return entry;
      } catch (thrown) {
        if (codeOf(thrown) !== "queue.record-missing") throw thrown;
      }
      if (waitMs !== undefined) await pause(waitMs, signal);
    }
    return undefined;
  }

  function isOver(signal: AbortSignal): boolean {
    return options.isStopping() || (signal.aborted && abortCauseOf(signal) === "shutdown");
  }

  async function beforeAttempt(
    job: ToolJob,
    entry: CallRecordEntry,
    signal: AbortSignal,
  ): Promise<JobOutcome | NextStep> {
    const { state, body } = entry;
    if (state === "done" || state === "unknown") return { type: "ended", entry };
    if (isOver(signal)) return { type: "back" };
    if (state === "started") {
      if (await takeover.isRunElsewhere(job, entry, signal)) {
        options.log.info({ jobId: job.id }, "a tool call stays with its worker, which does not answer");
        return later();
      }
      if (isOver(signal)) return { type: "back" };
      steps.reportStalled(job, entry);
      return { type: !signal.aborted && steps.mayRunAgain(job, entry) ? "attempt" : "give-up" };
    }
    if (signal.aborted || body.stop !== undefined) return { type: "give-up" };
    const waitMs = state === "waiting" ? retryInMs(entry) : 0;
    if (waitMs <= 0) return { type: "attempt" };
    if (waitMs > minWaitMs) return { type: "later", at: Date.now() + waitMs };
    await pause(waitMs, signal);
    return await beforeAttempt(job, entry, signal);
  }

  async function afterAttempt(entry: CallRecordEntry): Promise<JobOutcome> {
    const { state } = entry;
    if (state === "done" || state === "unknown") return { type: "ended", entry };
    if (state === "waiting") return { type: "retry", entry };
    // Another process has taken over the call and runs it.
    if (runnerOf(entry) !== runner) return later();
    const released = await record.release(entry).catch(() => entry);
    return { type: "back", entry: released };
  }

  const later = (): JobOutcome => ({ type: "later", at: Date.now() + options.lookAgainMs });

  return async (job, signal, begun) => {
    let hasBegun = false;
    const attempt = (seen: SeenCall) =>
      steps.attempt(job, seen, signal, () => {
        hasBegun = true;
        begun();
      });
    let entry = await firstLook(job, attempt, signal);
    while (entry !== undefined) {
      if (hasBegun) return await afterAttempt(entry);
      const next = await beforeAttempt(job, entry, signal);
      if (next.type !== "attempt" && next.type !== "give-up") return next;
      entry = next.type === "attempt" ? await attempt(entry) : await steps.giveUp(job, entry);
    }
    return { type: "gone" };
  };
}
