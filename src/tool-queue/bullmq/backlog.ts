/** Adds jobs to BullMQ. Every step may be repeated, because one id always means one job. */
import { Queue } from "bullmq";
import type { ToolJob } from "../../ports/tool.ts";
import { type CallRecordEntry, retryInMs } from "../calls/call-store.ts";
import type { QueueConnection } from "./connections.ts";
import { bullIdOf, optionsOf, queueName } from "./jobs.ts";
import { isRedisAway, retryTransient } from "./redis-retry.ts";

export interface Backlog {
  /** Waits while Redis is unreachable. Rejects if Redis refuses the job or the signal aborts. */
  add(job: ToolJob, signal: AbortSignal): Promise<void>;
  /** Makes sure that an open call reaches a worker even if its job is lost or late. Rejects if Redis is unreachable. */
  ensure(job: ToolJob, entry: CallRecordEntry): Promise<void>;
  /** Removes the job of a call that ended without a worker. If that fails, a worker finds that the call has ended. */
  remove(job: ToolJob): void;
  close(): Promise<void>;
}

export interface BacklogOptions {
  connection: QueueConnection;
  prefix: string;
  onError: (thrown: unknown) => void;
}

const maxStreamEvents = 1_000;

export function createBacklog({ connection, prefix, onError }: BacklogOptions): Backlog {
  const queue = new Queue(queueName, { connection, prefix, streams: { events: { maxLen: maxStreamEvents } } });
  queue.on("error", onError);

  async function addNow(job: ToolJob): Promise<void> {
    await queue.add(job.call.name, job, optionsOf(job));
  }

  return {
    add: (job, signal) =>
      retryTransient(
        () => addNow(job),
        isRedisAway,
        () => signal.aborted,
      ),
    async ensure(job, entry) {
      const id = bullIdOf(job.id);
      const found = await queue.getJobState(id);
      const hasEnded = found === "completed" || found === "failed";
      if (hasEnded) await queue.remove(id);
      if (hasEnded || found === "unknown") return await addNow(job);
      const isDue = entry.state === "planned" || (entry.state === "waiting" && retryInMs(entry) === 0);
      if (found === "delayed" && isDue) await (await queue.getJob(id))?.promote();
    },
    remove: (job) => void queue.remove(bullIdOf(job.id)).catch(onError),
    close: () => queue.close(),
  };
}
