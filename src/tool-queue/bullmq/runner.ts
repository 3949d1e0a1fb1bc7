/**
 * The BullMQ worker that runs tools. What happens to a job is decided in job-lifecycle.ts; here it is told to BullMQ: as
 * completed or failed, as delayed for its next attempt, or as put back. A job that comes again while this process still runs
 * it waits for the end of that, which is then the end of both.
 */
import { setImmediate } from "node:timers/promises";
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from "bullmq";
import { type AbortCause, TurnAbort } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import type { Log } from "../../lib/log.ts";
import type { ToolJob } from "../../ports/tool.ts";
import type { CallExecutor } from "../calls/call-executor.ts";
import type { CallRecord, CallRecordEntry } from "../calls/call-store.ts";
import type { QueueConnection } from "./connections.ts";
import { type Course, createJobLifecycle } from "./job-lifecycle.ts";
import { backoffType, bullIdOf, queueName, toolJobOf } from "./jobs.ts";
import { createTakeover } from "./takeover.ts";

export interface RunnerOptions {
  connection: QueueConnection;
  prefix: string;
  /** This process. */
  runner: string;
  concurrency: number;
  record: CallRecord;
  steps: CallExecutor;
  /** How long a job is this worker's after it last said so, and how often it is looked for jobs whose time is over. */
  lockMs: number;
  stalledMs: number;
  graceMs: number;
  lookAgainMs: number;
  log: Log;
  onError: (thrown: unknown) => void;
  /** The tool is about to run. */
  onBegun: (jobId: string) => void;
  /** What has become of a job, also when somebody else made it so. */
  onChange: (entry: CallRecordEntry) => void;
  /** The job could not be begun, and will not be. */
  onRefused: (jobId: string, thrown: unknown) => void;
}

export interface Runner {
  isRunning(jobId: string): boolean;
  running(): number;
  /** True when the tool is running here, and is being told. */
  cancel(jobId: string, cause: AbortCause): boolean;
  /** Takes nothing new from now on. */
  stop(): void;
  /** Resolves when no tool runs any more here, and BullMQ has been told; of the latter it waits `patienceMs` at most. */
  close(patienceMs: number): Promise<void>;
}

/** After a job was let go of, others come first. */
const letGoMs = 500;

interface Running {
  controller: AbortController;
  hasBegun: boolean;
  ended: Promise<void>;
}

/** BullMQ's own retry, at the time that stands in the ledger. */
class RetryLater extends Error {
  readonly waitMs: number;

  constructor(waitMs: number) {
    super("the attempt failed and is made again");
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
    // Its connection is called by it, which shows the other processes that this one lives (takeover.ts).
    name: runner,
    concurrency,
    lockDuration: options.lockMs,
    stalledInterval: options.stalledMs,
    // The ledger bounds attempts; a job that BullMQ itself ends would never get a result.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    settings: {
      backoffStrategy: (_attempts, type, thrown) =>
        type === backoffType && thrown instanceof RetryLater ? thrown.waitMs : 0,
    },
  });
  worker.on("error", options.onError);

  // BullMQ gives the signal to functions with three parameters.
  async function work(bullJob: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<string> {
    const job = toolJobOf(bullJob.data);
    if (job === undefined) {
      log.error({ bullId: bullJob.id }, "a job in the queue is none of this version of Remora, so it is not run");
      throw new UnrecoverableError("not a tool call of this version of Remora");
    }
    const other = running.get(job.id);
    if (other === undefined) return await tell(bullJob, token, await begin(job, signal));
    const cancel = () => other.controller.abort(abortOf(signal));
    signal?.addEventListener("abort", cancel, { once: true });
    await other.ended;
    // BullMQ does not listen to the other one any more. This one says what has become of the job, or brings it on.
    return await work(bullJob, token, signal);
  }

  async function begin(job: ToolJob, signal: AbortSignal | undefined): Promise<Course> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const own: Running = { controller: new AbortController(), hasBegun: false, ended };
    running.set(job.id, own);
    const cancel = () => own.controller.abort(abortOf(signal));
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    try {
      const course = await takeCourse(job, own.controller.signal, () => {
        own.hasBegun = true;
        options.onBegun(job.id);
      });
      running.delete(job.id);
      if ("entry" in course) {
        options.onChange(course.entry);
        // Whoever waits for it comes first, then BullMQ's book-keeping.
        await setImmediate();
      }
      return course;
    } catch (thrown) {
      running.delete(job.id);
      options.onRefused(job.id, thrown);
      throw new UnrecoverableError("its state could not be kept");
    } finally {
      end();
    }
  }

  async function tell(bullJob: Job, token: string | undefined, course: Course): Promise<string> {
    switch (course.type) {
      case "ended": {
        const status = course.entry.body.result?.status ?? "interrupted";
        if (status === "ok") return status;
        throw new UnrecoverableError(status);
      }
      case "retry":
        throw new RetryLater(Math.max(0, (course.entry.body.retryAt ?? 0) - Date.now()));
      case "later":
        return await putAway(() => bullJob.moveToDelayed(course.at, token), new DelayedError());
      case "back":
        if (isStopping) return await putAway(() => bullJob.moveToWait(token), new WaitingError());
        return await putAway(() => bullJob.moveToDelayed(Date.now() + letGoMs, token), new DelayedError());
      case "gone":
        log.warn({ bullId: bullJob.id }, "a job has no record in the ledger, so it is not run");
        return course.type;
      default:
        return course satisfies never;
    }
  }

  /** The error says to BullMQ that the job has been moved. Where it could not be, it comes again when its lock has expired. */
  async function putAway(move: () => Promise<unknown>, moved: Error): Promise<never> {
    await move().catch(options.onError);
    throw moved;
  }

  const underWay = () => [...running.values()].filter((own) => own.hasBegun);

  function stop(): void {
    isStopping = true;
    for (const own of running.values()) if (!own.hasBegun) own.controller.abort(new TurnAbort("shutdown"));
    // Not closed yet: its connection goes on showing that the process lives while tools run.
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
    async close(patienceMs) {
      stop();
      const closed = new AbortController();
      for (let isClosed = false; !isClosed; ) {
        await Promise.all(underWay().map((own) => own.ended));
        await Promise.race([worker.close(), pause(patienceMs, closed.signal)]);
        isClosed = underWay().length === 0;
      }
      closed.abort();
    },
  };
}

/** BullMQ hands on the cause as a text. */
function abortOf(signal: AbortSignal | undefined): TurnAbort {
  const cause: unknown = signal?.reason;
  return new TurnAbort(cause === "interrupted" || cause === "shutdown" ? cause : "stopped");
}
