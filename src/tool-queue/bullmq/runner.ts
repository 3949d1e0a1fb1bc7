/**
 * The BullMQ worker that runs tools. Reports the decisions of job-lifecycle.ts to BullMQ: completed, failed, delayed or
 * put back. If a job arrives again while it still runs here, the second delivery waits for that run and shares its
 * outcome.
 */
import { setImmediate } from "node:timers/promises";
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from "bullmq";
import { type AbortCause, TurnAbort } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolJob } from "../../ports/tool.ts";
import type { CallExecutor } from "../calls/call-executor.ts";
import { type CallRecord, type CallRecordEntry, retryInMs } from "../calls/call-store.ts";
import type { QueueConnection } from "./connections.ts";
import { createJobLifecycle, type JobOutcome } from "./job-lifecycle.ts";
import { backoffType, bullIdOf, queueName, toolJobOf } from "./jobs.ts";
import { createTakeover } from "./takeover.ts";

export interface RunnerOptions {
  connection: QueueConnection;
  prefix: string;
  runner: string;
  concurrency: number;
  record: CallRecord;
  steps: CallExecutor;
  lockMs: number;
  stalledMs: number;
  graceMs: number;
  lookAgainMs: number;
  log: Log;
  onError: (thrown: unknown) => void;
  onBegun: (jobId: string) => void;
  onChange: (entry: CallRecordEntry) => void;
  onRefused: (jobId: string, thrown: unknown) => void;
}

export interface Runner {
  isRunning(jobId: string): boolean;
  running(): number;
  cancel(jobId: string, cause: AbortCause): boolean;
  stop(): void;
  /** Resolves when no tool runs here and BullMQ has received all outcomes. Waits for BullMQ at most `maxCloseMs`. */
  close(maxCloseMs: number): Promise<void>;
}

/** A job that was put back waits this long so that other jobs come first. */
const putBackDelayMs = 500;

interface Running {
  controller: AbortController;
  hasBegun: boolean;
  ended: Promise<void>;
}

class RetryLater extends Error {
  readonly waitMs: number;

  constructor(waitMs: number) {
    super("the attempt failed and will be retried");
    this.waitMs = waitMs;
  }
}

export function createRunner(options: RunnerOptions): Runner {
  const { connection, prefix, runner, concurrency, log } = options;
  const running = new Map<string, Running>();
  let isStopping = false;
  const takeover = createTakeover({ ...options, connectionNames: () => worker.getBackend().getClientList() });
  const takeCourse = createJobLifecycle({ ...options, takeover, isStopping: () => isStopping });
  const worker = new Worker(queueName, work, {
    connection,
    prefix,
    // The worker's connection gets this name, by which other processes see that this one is alive (takeover.ts).
    name: runner,
    concurrency,
    lockDuration: options.lockMs,
    stalledInterval: options.stalledMs,
    // BullMQ must not end jobs, because such a job would never get a result. The ledger limits attempts.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    settings: {
      backoffStrategy: (_attempts, type, thrown) =>
        type === backoffType && thrown instanceof RetryLater ? thrown.waitMs : 0,
    },
  });
  worker.on("error", options.onError);

  // BullMQ passes the signal only to functions with three parameters.
  async function work(bullJob: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<string> {
    const job = toolJobOf(bullJob.data);
    if (job === undefined) {
      log.error({ bullId: bullJob.id }, "a job in the queue is not from this version of Remora, so it will not run");
      throw new UnrecoverableError("not a tool call of this version of Remora");
    }
    const other = running.get(job.id);
    if (other === undefined) return await tell(bullJob, token, await begin(job, signal));
    const cancel = () => other.controller.abort(abortOf(signal));
    signal?.addEventListener("abort", cancel, { once: true });
    await other.ended;
    // BullMQ rejects the outcome of the first delivery, so this delivery reports it, or continues.
    return await work(bullJob, token, signal);
  }

  async function begin(job: ToolJob, signal: AbortSignal | undefined): Promise<JobOutcome> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const own: Running = { controller: new AbortController(), hasBegun: false, ended };
    running.set(job.id, own);
    const cancel = () => own.controller.abort(abortOf(signal));
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    try {
      const outcome = await takeCourse(job, own.controller.signal, () => {
        own.hasBegun = true;
        options.onBegun(job.id);
      });
      running.delete(job.id);
      if ("entry" in outcome) {
        options.onChange(outcome.entry);
        // Let the waiters run before BullMQ's bookkeeping does.
        await setImmediate();
      }
      return outcome;
    } catch (thrown) {
      running.delete(job.id);
      options.onRefused(job.id, thrown);
      throw new UnrecoverableError("its state could not be stored");
    } finally {
      end();
    }
  }

  async function tell(bullJob: Job, token: string | undefined, outcome: JobOutcome): Promise<string> {
    switch (outcome.type) {
      case "ended": {
        const status = outcome.entry.body.result?.status ?? "interrupted";
        if (status === "ok") return status;
        throw new UnrecoverableError(status);
      }
      case "retry":
        throw new RetryLater(retryInMs(outcome.entry));
      case "later":
        return await putAway(() => bullJob.moveToDelayed(outcome.at, token), new DelayedError());
      case "back":
        if (isStopping) return await putAway(() => bullJob.moveToWait(token), new WaitingError());
        return await putAway(() => bullJob.moveToDelayed(Date.now() + putBackDelayMs, token), new DelayedError());
      case "gone":
        log.warn({ bullId: bullJob.id }, "a job has no record in the ledger, so it will not run");
        return outcome.type;
      default:
        return outcome satisfies never;
    }
  }

  /** Throws `moved` to tell BullMQ about the move. If the move failed, the job returns when its lock expires. */
  async function putAway(move: () => Promise<unknown>, moved: Error): Promise<never> {
    await move().catch(options.onError);
    throw moved;
  }

  const underWay = () => [...running.values()].filter((own) => own.hasBegun);

  function stop(): void {
    isStopping = true;
    for (const own of running.values()) if (!own.hasBegun) own.controller.abort(new TurnAbort("shutdown"));
    // Only pause the worker: its connection must stay open while tools run, to show that the process lives.
    void worker.pause(true).catch(options.onError);
  }

  return {
    isRunning: (jobId) => running.get(jobId)?.hasBegun === true,
    running: () => underWay().length,
    cancel(jobId, cause) {
      worker.cancelJob(bullIdOf(jobId), cause);
      return running.get(jobId)?.hasBegun === true;
    },
    stop,
    async close(maxCloseMs) {
      stop();
      const closed = new AbortController();
      for (let isClosed = false; !isClosed; ) {
        await Promise.all(underWay().map((own) => own.ended));
        await Promise.race([worker.close(), pause(maxCloseMs, closed.signal)]);
        isClosed = underWay().length === 0;
      }
      closed.abort();
    },
  };
}

/** BullMQ passes the cause of the abort as text. */
function abortOf(signal: AbortSignal | undefined): TurnAbort {
  const cause: unknown = signal?.reason;
  return new TurnAbort(cause === "interrupted" || cause === "shutdown" ? cause : "stopped");
}
