/**
 * Decides what the end of an attempt means for its job, and contains every text that the model reads from the queue.
 * After a timeout, only idempotent tools are retried, because the first attempt may already have had side effects.
 */
import { type Backoff, waitBeforeRetry } from "../../lib/backoff.ts";
import type { Origin } from "../../ports/origin.ts";
import type { ToolAttempt, ToolFile, ToolImage, ToolJob, ToolResult, ToolStatus } from "../../ports/tool.ts";
import type { AttemptEnd } from "./attempt.ts";
import type { CallRecordEntry } from "./call-store.ts";

export type AfterAttempt =
  | { type: "retry"; waitMs: number; text: string; isEphemeral: true | undefined }
  | ({ type: "end"; status: ToolStatus; text: string } & Partial<Outputs>);

interface Outputs {
  files: ToolFile[];
  images: ToolImage[] | undefined;
  origins: Origin[] | undefined;
  changedFiles: string[] | undefined;
  isEphemeral: true | undefined;
}

/** A person waits for the turn. If a service asks for a longer wait, the call fails with a message that says so. */
const maxRetryWaitMs = 120_000;

export const textOf = {
  unknown:
    "Interrupted: this call started and was then cut off, so its outcome is unknown. It may have taken effect, fully or in part. Check before you repeat it.",
  harmless: "Interrupted: this call was stopped before it ended. You may repeat it.",
  notRun(isShutdown: boolean, failure?: string): string {
    const why = isShutdown ? "Remora is shutting down" : "it was stopped first";
    return failure === undefined ? `Not run: ${why}.` : `Not retried: ${why}. The last attempt failed: ${failure}`;
  },
  unkept: (reason: string) => `Not run: the call could not be recorded, and unrecorded calls never run. ${reason}`,
  unqueued: (reason: string) => `Not run: the call could not be put into the queue. ${reason}`,
  outOfReach:
    "Interrupted: it was stopped while the queue could not be reached, so its outcome is unknown. It may have run or may still be running. Check before you repeat it.",
  timedOut({ timeoutMs, isIdempotent }: ToolJob, hasEnded: boolean): string {
    const seconds = Number((timeoutMs / 1000).toFixed(1));
    if (isIdempotent && hasEnded) return `The tool timed out after ${seconds} s and was stopped.`;
    const rest = hasEnded ? "It was stopped" : "It did not stop when told to, so it may still be running";
    return `The tool timed out after ${seconds} s. ${rest}; what it did before may have taken effect.`;
  },
};

export function cutOffText({ isIdempotent }: ToolJob): string {
  return isIdempotent ? textOf.harmless : textOf.unknown;
}

export function afterAttempt(job: ToolJob, end: AttemptEnd, attempts: number, backoff: Backoff): AfterAttempt {
  switch (end.type) {
    case "aborted":
      return { type: "end", status: "interrupted", text: cutOffText(job) };
    case "timed-out": {
      const text = textOf.timedOut(job, end.hasEnded);
      return afterFailure({ isOk: false, text, files: [], isRetryable: job.isIdempotent }, attempts, backoff);
    }
    case "ended": {
      const { attempt } = end;
      const { text, files, images, origins, isEphemeral } = attempt;
      if (attempt.isOk) return { type: "end", status: "ok", text, files, images, origins, isEphemeral };
      return afterFailure(
        { ...attempt, isRetryable: attempt.isRetryable || (job.isIdempotent && attempt.isAnswer !== true) },
        attempts,
        backoff,
      );
    }
    default:
      return end satisfies never;
  }
}

function afterFailure(failed: ToolAttempt, attempts: number, backoff: Backoff): AfterAttempt {
  const waitMs = failed.isRetryable ? waitBeforeRetry(backoff, attempts, failed.retryAfterMs) : undefined;
  const { files, origins, changedFiles, isEphemeral } = failed;
  if (waitMs !== undefined && waitMs <= maxRetryWaitMs)
    return { type: "retry", waitMs, text: failed.text, isEphemeral };
  const tried = attempts > 1 ? `\n\n(Tried ${attempts} times; this is the output of the last attempt.)` : "";
  const later = waitMs === undefined ? "" : `\n\n(It may work again in ${Math.ceil(waitMs / 1000)} s.)`;
  const outputs = { files, origins, changedFiles, isEphemeral };
  return { type: "end", status: "failed", text: `${failed.text}${tried}${later}`, ...outputs };
}

export function resultOf(
  job: ToolJob,
  { body }: CallRecordEntry,
  status: ToolStatus,
  text: string,
  { files = [], images = [], origins, changedFiles, isEphemeral }: Partial<Outputs> = {},
): ToolResult {
  const durationMs = body.attempts === 0 ? 0 : Math.max(0, Date.now() - body.startedAt);
  const known = origins === undefined ? {} : { origins };
  return {
    callId: job.call.id,
    name: job.call.name,
    status,
    text,
    ...known,
    attempts: body.attempts,
    durationMs,
    files,
    ...(images.length === 0 ? {} : { images }),
    ...(changedFiles === undefined ? {} : { changedFiles }),
    ...(isEphemeral === undefined ? {} : { isEphemeral }),
  };
}

export function suspended(job: ToolJob, entry: CallRecordEntry): ToolResult {
  const text = entry.state === "started" ? textOf.unknown : textOf.notRun(true, entry.body.failure);
  return resultOf(job, entry, "interrupted", text);
}

export function unstarted(job: ToolJob, status: ToolStatus, text: string): ToolResult {
  return { callId: job.call.id, name: job.call.name, status, text, attempts: 0, durationMs: 0, files: [] };
}

export function fieldsOf({ call, scope }: ToolJob) {
  const { turnId, conversationId, requester } = scope;
  return { turnId, conversationId, userId: requester.id, callId: call.id, tool: call.name };
}

export function firstLine(text: string): string {
  return (text.trim().split("\n", 1)[0] ?? "").slice(0, 300);
}
