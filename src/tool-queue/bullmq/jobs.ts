/** Names and options that the queue uses in BullMQ, and the data of a job. */
import type { JobsOptions, KeepJobs } from "bullmq";
import { z } from "zod";
import { fileNameOf } from "../../lib/file-name.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Author, JsonObject, Scope } from "../../ports/message.ts";
import type { ToolJob } from "../../ports/tool.ts";

export const queueName = "tools";

/** Finished jobs stay in Redis only for people who inspect it; results are in the ledger. `age` is in seconds. */
const retained = { age: 600, count: 100 } satisfies KeepJobs;

/** BullMQ refuses ids that contain `:` or are integers, and replaces empty ones, but a call id may be any text. */
export function bullIdOf(jobId: string): string {
  const name = fileNameOf(jobId);
  return /^(?:-?\d*$|job-)/.test(name) ? `job-${name}` : name;
}

export const backoffType = "remora";

export function optionsOf(job: ToolJob): JobsOptions {
  return {
    jobId: bullIdOf(job.id),
    // The ledger counts attempts. BullMQ must never end a job by its own count, which omits interrupted attempts.
    attempts: Number.MAX_SAFE_INTEGER,
    backoff: { type: backoffType },
    removeOnComplete: retained,
    removeOnFail: retained,
    // Store no stack traces, because they could reveal what tools did with which data.
    stackTraceLimit: 0,
  };
}

/**
 * The complete `ToolJob`, because a worker in another process receives nothing else. The arguments are in clear text,
 * with any secrets in them, because redacting them would change the call. So protect Redis as carefully as the ledger.
 * Results are never part of the data.
 */
const toolJobSchema = z.looseObject({
  id: z.string(),
  call: z.looseObject({ id: z.string(), name: z.string(), input: z.custom<JsonObject>(isJsonObject) }),
  scope: z.looseObject({
    turnId: z.string(),
    conversationId: z.string(),
    scope: z.custom<Scope>((value) => typeof value === "string"),
    requester: z.custom<Author>((value) => isJsonObject(value) && typeof value.id === "string"),
    workingFolder: z.string(),
  }),
  isIdempotent: z.boolean(),
  timeoutMs: z.number(),
});

/** Returns undefined for data that another program or an incompatible version of Remora wrote. */
export function toolJobOf(data: unknown): ToolJob | undefined {
  return toolJobSchema.safeParse(data).data;
}
