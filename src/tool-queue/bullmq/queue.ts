/**
 * The tool queue for several processes: each call is a job in BullMQ, and any worker may run it. BullMQ delivers a job
 * at least once, so the ledger (call-store.ts) decides what must happen only once.
 *
 *   1. record the call as planned and add its job to BullMQ at the same time; a job without a record does not run
 *   2. a worker, here or elsewhere, takes the job (runner.ts) and stores the result in the ledger
 *   3. the waiter is notified directly or by the bus; messages may get lost, so it also checks the ledger, and adds the
 *      job again if Redis has lost it
 *
 * While Redis or the ledger is unreachable, everything waits until the job's signal aborts. If the cause is
 * `shutdown`, the job stays queued for another process or the next start.
 */
import { randomUUID } from "node:crypto";
import { abortCauseOf } from "../../lib/abort.ts";
import { pause } from "../../lib/backoff.ts";
import type { Bus } from "../../ports/cluster.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ToolJob, ToolQueue, ToolResult } from "../../ports/tool.ts";
import { type ActiveJob, createActiveJobs } from "../calls/active-jobs.ts";
import { type CallExecutorOptions, createCallExecutor } from "../calls/call-executor.ts";
import { type CallRecordEntry, createCallRecord } from "../calls/call-store.ts";
import { textOf, unstarted } from "../calls/outcome.ts";
import { createBacklog } from "./backlog.ts";
import { type Connect, createConnections } from "./connections.ts";
import { createErrorThrottle } from "./error-throttle.ts";
import { createJobWaiter, type JobWaiter } from "./job-waiter.ts";
import { createRetryingLedger, createRetryLimit } from "./redis-retry.ts";
import { createRunner } from "./runner.ts";

export interface BullQueueOptions extends CallExecutorOptions {
  ledger: Ledger;
  connect: Connect;
  /** Must contain a part in braces, because BullMQ's scripts need one on a cluster. The default is `{remora}:`. */
  prefix?: string;
  bus: Bus;
  /** If false, this process only queues calls and runs none. */
  runs: boolean;
  /** The maximum number of attempts at a time in this process. A job that waits for a retry does not count. */
  concurrency: number;
  timing?: Partial<BullTiming>;
}

export interface BullTiming {
  /** A worker that has not renewed its lock on a job for this long may have lost it. */
  lockMs: number;
  stalledMs: number;
  /** A worker without a connection for this long counts as ended. */
  graceMs: number;
  /** Interval between checks of a job whose worker is alive but does not respond. */
  lookAgainMs: number;
  sweepMs: number;
  maxStopMs: number;
  /** How long a turn that is suspended waits for the end of its call. */
  maxSuspendMs: number;
  maxCloseMs: number;
}

const defaultTiming: BullTiming = {
  lockMs: 5_000,
  stalledMs: 2_000,
  graceMs: 5_000,
  lookAgainMs: 2_000,
  sweepMs: 5_000,
  maxStopMs: 5_000,
  maxSuspendMs: 1_000,
  maxCloseMs: 1_500,
};

export function createBullQueue(options: BullQueueOptions): ToolQueue {
  const { bus, log } = options;
  const prefix = `${options.prefix ?? "{remora}:"}bull`;
  const { lockMs } = options.timing ?? {};
  const ofLock = lockMs === undefined ? {} : { stalledMs: lockMs / 2, graceMs: lockMs / 2 };
  const timing = { ...defaultTiming, ...ofLock, ...options.timing };
  const name = randomUUID();
  const trouble = createErrorThrottle(log);
  const retryLimit = createRetryLimit(timing.maxCloseMs);
  const record = createCallRecord(createRetryingLedger(options.ledger, retryLimit), name);
  const steps = createCallExecutor(record, options);
  const connections = createConnections(options.connect, trouble);
  const backlog = createBacklog({ connection: connections.open("queue"), prefix, onError: trouble });
  const followers = new Map<string, JobWaiter>();
  const activeJobs = createActiveJobs(work, log);
  const runner = options.runs
    ? createRunner({
        ...timing,
        connection: connections.open("worker"),
        prefix,
        runner: name,
        concurrency: options.concurrency,
        record,
        steps,
        log,
        onError: trouble,
        onBegun(jobId) {
          const active = activeJobs.get(jobId);
          if (active !== undefined) active.hasRun = true;
        },
        onChange,
        onRefused: (jobId, thrown) => followers.get(jobId)?.refuse(thrown),
      })
    : undefined;

  function onChange(entry: CallRecordEntry): void {
    followers.get(entry.id)?.tell(entry);
    const hasEnded = entry.state === "done" || entry.state === "unknown";
    // Publish after the waiters in this process have been notified.
    if (hasEnded) setImmediate(() => bus.publish({ type: "changed", kind: "call", id: entry.id }));
  }

  async function work(active: ActiveJob): Promise<ToolResult> {
    const { job, controller } = active;
    const { maxStopMs } = timing;
    const { isClosing } = activeJobs;
    const follower = createJobWaiter(active, {
      record,
      steps,
      backlog,
      runner,
      bus,
      maxStopMs,
      isClosing,
      onError: trouble,
    });
    followers.set(job.id, follower);
    const ended = follower.follow().finally(() => {
      if (followers.get(job.id) === follower) followers.delete(job.id);
    });
    return await Promise.race([ended, outOfReach(job, ended, controller.signal)]);
  }

  /** After a stop, waits only briefly for an unreachable ledger. Running attempts continue until the queue closes. */
  function outOfReach(job: ToolJob, ended: Promise<unknown>, signal: AbortSignal): Promise<ToolResult> {
    return new Promise((resolve) => {
      let waiting: AbortController | undefined;
      const onAbort = async () => {
        waiting = new AbortController();
        // The next start asks for the result again.
        const isShutdown = abortCauseOf(signal) === "shutdown";
        await pause(isShutdown ? timing.maxSuspendMs : 2 * timing.maxStopMs, waiting.signal);
        resolve(unstarted(job, "interrupted", textOf.outOfReach));
      };
      const end = () => {
        signal.removeEventListener("abort", onAbort);
        waiting?.abort();
      };
      ended.then(end, end);
      if (signal.aborted) void onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  async function look(follower: JobWaiter): Promise<void> {
    const entry = await record.look(follower.job.id);
    if (entry !== undefined) follower.tell(entry);
  }

  async function lookAfter(follower: JobWaiter): Promise<void> {
    const { job } = follower;
    if (activeJobs.isClosing() || runner?.isRunning(job.id) === true) return;
    await look(follower);
    const { entry } = follower;
    const hasEnded = entry?.state === "done" || entry?.state === "unknown";
    if (entry !== undefined && !hasEnded) await backlog.ensure(job, entry);
  }

  let isSweeping = false;
  async function sweep(): Promise<void> {
    if (isSweeping) return;
    isSweeping = true;
    for (const follower of [...followers.values()]) await lookAfter(follower).catch(trouble);
    isSweeping = false;
  }

  const sweeping = setInterval(() => void sweep(), timing.sweepMs).unref();
  const stopListening = bus.listen((message) => {
    if (message.type === "cancel-job") runner?.cancel(message.jobId, message.cause);
    const follower = message.type === "changed" && message.kind === "call" ? followers.get(message.id) : undefined;
    if (follower !== undefined) look(follower).catch(trouble);
  });

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    for (const active of activeJobs.values()) active.isRunning = runner?.isRunning(active.job.id) === true;
    activeJobs.close();
    clearInterval(sweeping);
    retryLimit.end();
    // Stop listening only now so that a stop still reaches attempts that run here for other processes.
    await runner?.close(timing.maxCloseMs);
    stopListening();
    await Promise.allSettled(activeJobs.values().map((active) => active.result));
    await backlog.close();
    await connections.end();
  }

  return {
    run: activeJobs.run,
    counts() {
      const jobs = activeJobs.values().filter(({ job }) => runner?.isRunning(job.id) !== true);
      const elsewhere = jobs.filter(({ job }) => followers.get(job.id)?.entry?.state === "started").length;
      return { waiting: jobs.length - elsewhere, running: elsewhere + (runner?.running() ?? 0) };
    },
    close: () => (closed ??= close()),
  };
}
