/** What BullMQ's side of the queue is called, and what stands in a job there. */
import type { JobsOptions, KeepJobs } from "bullmq";
import { z } from "zod";
import { fileNameOf } from "../../lib/file-name.ts";
import type { Author, JsonObject, Scope } from "../../ports/message.ts";
import type { ToolJob } from "../../ports/tool.ts";

export const queueName = "tools";

/**
 * A finished job is only of use to people who look into Redis: its result is in the ledger. Age in seconds; both bounds are
 * applied when the next job finishes.
 */
const retained = { age: 600, count: 100 } satisfies KeepJobs;

/** BullMQ takes no `:` and no integers for ids of ours, and makes up one for an empty id; call ids come from the model. */
export function bullIdOf(jobId: string): string {
  const name = fileNameOf(jobId);
  return /^(?:-?\d*$|job-)/.test(name) ? `job-${name}` : name;
}

/** The strategy's name in the options of a job; the worker says what it is. */
export const backoffType = "remora";

export function optionsOf(job: ToolJob): JobsOptions {
  return {
    jobId: bullIdOf(job.id),
    // The ledger counts attempts. BullMQ's count leaves out those that were cut off, and must never end a job.
    attempts: Number.MAX_SAFE_INTEGER,
    backoff: { type: backoffType },
    removeOnComplete: retained,
    removeOnFail: retained,
    // Stacks say what tools did, and with what.
    stackTraceLimit: 0,
  };
}

/**
 * The data of a job is the `ToolJob`, whole: a worker in another process has nothing else to run it by. The arguments stand
 * in Redis in clear, with whatever secrets a person or a model put into them, because a redacted argument would be another
 * call. So Redis is to be guarded like the ledger, and finished jobs don't stay (`retained`). Results are never in it.
 */
const toolJobSchema = z.looseObject({
  id: z.string(),
  call: z.looseObject({ id: z.string(), name: z.string(), input: z.custom<JsonObject>(isObject) }),
  scope: z.looseObject({
    turnId: z.string(),
    conversationId: z.string(),
    scope: z.custom<Scope>((value) => typeof value === "string"),
    requester: z.custom<Author>((value) => isObject(value) && typeof value.id === "string"),
    workingFolder: z.string(),
  }),
  isIdempotent: z.boolean(),
  timeoutMs: z.number(),
});

/** Undefined when somebody else has put it into the queue, or another version of Remora. */
export function toolJobOf(data: unknown): ToolJob | undefined {
  return toolJobSchema.safeParse(data).data;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
