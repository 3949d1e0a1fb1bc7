/** The side of the queue that puts jobs into BullMQ. Everything here may be done again without harm: one id is one job. */
import { Queue } from "bullmq";
import type { ToolJob } from "../../ports/tool.ts";
import type { CallRecordEntry } from "../calls/call-store.ts";
import type { QueueConnection } from "./connections.ts";
import { bullIdOf, optionsOf, queueName } from "./jobs.ts";
import { isRedisAway, patiently } from "./redis-retry.ts";

export interface Backlog {
  /** Waits while Redis is away; rejects when Redis refuses it, or after the signal's abort. */
  add(job: ToolJob, signal: AbortSignal): Promise<void>;
  /**
   * Sees to it that a call that has not ended comes to a worker: Redis may have lost the job, or ended it without us, or it
   * waits although it is due. Rejects when Redis is away.
   */
  ensure(job: ToolJob, entry: CallRecordEntry): Promise<void>;
  /** For a call that has ended without a worker. What can't be removed comes to one, and that finds it ended. */
  remove(job: ToolJob): void;
  close(): Promise<void>;
}

export interface BacklogOptions {
  connection: QueueConnection;
  prefix: string;
  onError: (thrown: unknown) => void;
}

/** Entries of BullMQ's event stream, which nothing here reads. */
const keptEvents = 1_000;

export function createBacklog({ connection, prefix, onError }: BacklogOptions): Backlog {
  const queue = new Queue(queueName, { connection, prefix, streams: { events: { maxLen: keptEvents } } });
  queue.on("error", onError);

  async function addNow(job: ToolJob): Promise<void> {
    await queue.add(job.call.name, job, optionsOf(job));
  }

  return {
    add: (job, signal) =>
      patiently(
        () => addNow(job),
        isRedisAway,
        () => signal.aborted,
      ),
    async ensure(job, { state, body }) {
      const id = bullIdOf(job.id);
      const found = await queue.getJobState(id);
      const hasEnded = found === "completed" || found === "failed";
      if (hasEnded) await queue.remove(id);
      if (hasEnded || found === "unknown") return await addNow(job);
      const isDue = state === "planned" || (state === "waiting" && (body.retryAt ?? 0) <= Date.now());
      if (found === "delayed" && isDue) await (await queue.getJob(id))?.promote();
    },
    remove: (job) => void queue.remove(bullIdOf(job.id)).catch(onError),
    close: () => queue.close(),
  };
}
