/**
 * The jobs that somebody in this process waits for: one piece of work for each job id, joined by whoever asks for the same
 * job meanwhile. An abort by one of them is an abort of the job, for all of them.
 */
import { TurnAbort } from "../../lib/abort.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolJob, ToolResult } from "../../ports/tool.ts";
import { cutOffText, textOf, unstarted } from "./outcome.ts";

export interface ActiveJob {
  job: ToolJob;
  controller: AbortController;
  /** An attempt is under way in this process: it is not cut short when the queue closes. */
  isRunning: boolean;
  /** The tool has been run for it by this process. */
  hasRun: boolean;
  result: Promise<ToolResult>;
}

export interface ActiveJobs {
  get(jobId: string): ActiveJob | undefined;
  values(): ActiveJob[];
  /** Never rejects: what `work` throws becomes a result that says whether the tool may have run. */
  run(job: ToolJob, signal: AbortSignal): Promise<ToolResult>;
  /** From now on nothing is taken; what does not run is let go of, as by a shutdown. */
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
        log.error({ jobId: job.id, error: messageOf(thrown) }, "the state of a tool call could not be kept");
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
      // Whoever asks may stop it: a person's stop means the call, not one of those who wait for it.
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
