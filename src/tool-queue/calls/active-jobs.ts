/** Tracks the jobs that callers in this process wait for. Callers of the same job share its run and its abort. */
import { TurnAbort } from "../../lib/abort.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
import type { ToolJob, ToolResult } from "../../ports/tool.ts";
import { cutOffText, textOf, unstarted } from "./outcome.ts";

export interface ActiveJob {
  job: ToolJob;
  controller: AbortController;
  /** True while an attempt runs in this process. Closing the queue then waits for it. */
  isRunning: boolean;
  hasRun: boolean;
  result: Promise<ToolResult>;
}

export interface ActiveJobs {
  get(jobId: string): ActiveJob | undefined;
  values(): ActiveJob[];
  /**
   * Rejects only if storage refuses for a while and the tool has not run. If `work` throws otherwise, the result says
   * whether the tool may have run.
   */
  run(job: ToolJob, signal: AbortSignal): Promise<ToolResult>;
  /** Aborts all jobs that are not running, as on shutdown. */
  close(): void;
  isClosing(): boolean;
}

export function createActiveJobs(work: (active: ActiveJob) => Promise<ToolResult>, log: Log): ActiveJobs {
  const activeJobs = new Map<string, ActiveJob>();
  let isClosing = false;

  function begin(job: ToolJob): ActiveJob {
    const result = Promise.resolve(unstarted(job, "interrupted", textOf.notRun(true)));
    const active: ActiveJob = { job, controller: new AbortController(), isRunning: false, hasRun: false, result };
    activeJobs.set(job.id, active);
    active.result = work(active)
      .catch((thrown) => {
        // The tool has not run, so the turn can wait for storage and submit the call again.
        if (isTransientStorageError(thrown) && !active.hasRun && !active.controller.signal.aborted) throw thrown;
        log.error({ jobId: job.id, error: messageOf(thrown) }, "could not store the state of a tool call");
        return active.hasRun
          ? unstarted(job, "interrupted", `${cutOffText(job)} ${messageOf(thrown)}`)
          : unstarted(job, "failed", textOf.unkept(messageOf(thrown)));
      })
      .finally(() => activeJobs.delete(job.id));
    return active;
  }

  return {
    get: (jobId) => activeJobs.get(jobId),
    values: () => [...activeJobs.values()],
    async run(job, signal) {
      if (isClosing) return unstarted(job, "interrupted", textOf.notRun(true));
      const active = activeJobs.get(job.id) ?? begin(job);
      // If a person stops the call, stop it for all its waiters.
      const stop = () => active.controller.abort(signal.reason);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
      try {
        return await active.result;
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    close() {
      isClosing = true;
      for (const { isRunning, controller } of activeJobs.values()) {
        if (!isRunning) controller.abort(new TurnAbort("shutdown"));
      }
    },
    isClosing: () => isClosing,
  };
}
