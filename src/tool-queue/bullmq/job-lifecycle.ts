/**
 * The course of one job that BullMQ has given to this process. BullMQ gives a job out at least once: again when its worker
 * was killed, when an event loop stood still for longer than the lock, or when Redis was away. So the ledger decides:
 *
 *   1. compare-and-set to `started`; whoever makes that step runs the tool, and nobody else
 *   2. found ended: nothing is left to do. Found waiting: not before it is due
 *   3. found `started` by another process: as long as that lives it is left alone, and looked at again later. Else the tool
 *      runs again if it may run twice, and if not the call ends with an unknown outcome
 */
import { abortCauseOf } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import { codeOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolJob } from "../../ports/tool.ts";
import type { CallExecutor } from "../calls/call-executor.ts";
import { type CallRecord, type CallRecordEntry, runnerOf, type SeenCall } from "../calls/call-store.ts";
import type { Takeover } from "./takeover.ts";

/**
 * - `ended`: now, or before. - `retry`: it is due again at the entry's time.
 * - `later`: nothing was done; not before `at`, milliseconds since the epoch.
 * - `back`: let go of as by a shutdown; for another process, or the next start. - `gone`: it has no record, so it is not run.
 */
export type Course =
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
  /** This process. */
  runner: string;
  /** How long until an attempt that another process makes is looked at again. */
  lookAgainMs: number;
  /** True from when this process takes nothing new. */
  isStopping: () => boolean;
  log: Log;
}

/** Shorter waits are not worth a way through Redis. */
const shortWaitMs = 50;
/** A job may arrive before its record, because both are written at the same time. */
const recordWaitsMs = [5, 20, 100, 400, 1_500];

/** Rejects when the ledger refuses; the tool has not run then. */
export type TakeCourse = (job: ToolJob, signal: AbortSignal, begun: () => void) => Promise<Course>;

export function createJobLifecycle({ record, steps, takeover, runner, ...options }: JobLifecycleOptions): TakeCourse {
  /** The record, after the first attempt if this process gets it. */
  async function firstLook(
    job: ToolJob,
    attempt: (seen: SeenCall) => Promise<CallRecordEntry>,
    signal: AbortSignal,
  ): Promise<CallRecordEntry | undefined> {
    for (const waitMs of [...recordWaitsMs, undefined]) {
      try {
        // As good as always it has just been planned, and this is the only step that the ledger is asked for before it runs.
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

  async function beforeAttempt(job: ToolJob, entry: CallRecordEntry, signal: AbortSignal): Promise<Course | NextStep> {
    const { state, body } = entry;
    if (state === "done" || state === "unknown") return { type: "ended", entry };
    if (isOver(signal)) return { type: "back" };
    if (state === "started") {
      if (await takeover.isRunElsewhere(job, entry, signal)) {
        options.log.info({ jobId: job.id }, "a tool call is left to the worker that runs it and does not answer");
        return later();
      }
      if (isOver(signal)) return { type: "back" };
      steps.reportStalled(job, entry);
      return { type: !signal.aborted && steps.mayRunAgain(job, entry) ? "attempt" : "give-up" };
    }
    if (signal.aborted || body.stop !== undefined) return { type: "give-up" };
    const waitMs = state === "waiting" ? (body.retryAt ?? 0) - Date.now() : 0;
    if (waitMs <= 0) return { type: "attempt" };
    if (waitMs > shortWaitMs) return { type: "later", at: Date.now() + waitMs };
    await pause(waitMs, signal);
    return await beforeAttempt(job, entry, signal);
  }

  /** What has become of an attempt that this process has made. */
  async function afterAttempt(entry: CallRecordEntry): Promise<Course> {
    const { state } = entry;
    if (state === "done" || state === "unknown") return { type: "ended", entry };
    if (state === "waiting") return { type: "retry", entry };
    // Another process took it over meanwhile and is at it.
    if (runnerOf(entry) !== runner) return later();
    const released = await record.release(entry).catch(() => entry);
    return { type: "back", entry: released };
  }

  const later = (): Course => ({ type: "later", at: Date.now() + options.lookAgainMs });

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
