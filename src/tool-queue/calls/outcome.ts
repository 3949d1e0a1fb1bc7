/**
 * What an attempt's end means for its job, and every sentence that the model reads from the queue.
 *
 * A failure is tried again when it is known to be passing, and any failure of an idempotent tool. The queue's own
 * time-out is not known to be passing: nobody knows what the tool had done by then, so only an idempotent one is tried again.
 */

import { type Backoff, waitBeforeRetry } from "../../lib/backoff.ts";
import type { Origin } from "../../ports/origin.ts";
import type { ToolAttempt, ToolFile, ToolJob, ToolResult, ToolStatus } from "../../ports/tool.ts";
import type { AttemptEnd } from "./attempt.ts";
import type { CallRecordEntry } from "./call-store.ts";

export type AfterAttempt =
  | { type: "retry"; waitMs: number; text: string }
  | { type: "end"; status: ToolStatus; text: string; files: ToolFile[]; origins?: Origin[] | undefined };

/** A person waits for the turn: when the other side asks for longer than this, that is the answer. */
const longestWaitMs = 120_000;

export const textOf = {
  unknown:
    "Interrupted: this call was started and then cut off, so its outcome is unknown; it may have taken effect, in part or whole. Check before you do it again.",
  harmless: "Interrupted: this call was stopped before it had ended. It may be made again.",
  notRun(isShutdown: boolean, failure?: string): string {
    const why = isShutdown ? "Remora is shutting down" : "it was stopped first";
    return failure === undefined
      ? `Not run: ${why}.`
      : `Not tried again: ${why}. The last attempt had failed: ${failure}`;
  },
  unkept: (reason: string) => `Not run: the call could not be recorded, and nothing runs unrecorded. ${reason}`,
  unqueued: (reason: string) => `Not run: the call could not be put into the queue. ${reason}`,
  outOfReach:
    "Interrupted: it was stopped while the queue was out of reach, so its outcome is unknown; it may have run, or still run. Check before you do it again.",
  timedOut({ timeoutMs, isIdempotent }: ToolJob, hasEnded: boolean): string {
    const seconds = Number((timeoutMs / 1000).toFixed(1));
    if (isIdempotent && hasEnded) return `The tool timed out after ${seconds} s and was ended.`;
    const rest = hasEnded ? "It was ended" : "It was told to end and did not, so it may still be running";
    return `The tool timed out after ${seconds} s. ${rest}; what it did until then may have taken effect.`;
  },
};

/** For a call whose end nobody saw. */
export function cutOffText({ isIdempotent }: ToolJob): string {
  return isIdempotent ? textOf.harmless : textOf.unknown;
}

export function afterAttempt(job: ToolJob, end: AttemptEnd, attempts: number, backoff: Backoff): AfterAttempt {
  switch (end.type) {
    case "aborted":
      return { type: "end", status: "interrupted", text: cutOffText(job), files: [] };
    case "timed-out": {
      const text = textOf.timedOut(job, end.hasEnded);
      return afterFailure({ isOk: false, text, files: [], isRetryable: job.isIdempotent }, attempts, backoff);
    }
    case "ended": {
      const { attempt } = end;
      const { origins } = attempt;
      if (attempt.isOk) return { type: "end", status: "ok", text: attempt.text, files: attempt.files, origins };
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
  if (waitMs !== undefined && waitMs <= longestWaitMs) return { type: "retry", waitMs, text: failed.text };
  const tried = attempts > 1 ? `\n\n(Tried ${attempts} times; this is what the last attempt said.)` : "";
  const later = waitMs === undefined ? "" : `\n\n(It may work again in ${Math.ceil(waitMs / 1000)} s.)`;
  const { files, origins } = failed;
  return { type: "end", status: "failed", text: `${failed.text}${tried}${later}`, files, origins };
}

export function resultOf(
  job: ToolJob,
  { body }: CallRecordEntry,
  status: ToolStatus,
  text: string,
  { files = [], origins }: { files?: ToolFile[]; origins?: Origin[] | undefined } = {},
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
  };
}

/** For a process that goes down; the entry stays as it is for the next start. */
export function suspended(job: ToolJob, entry: CallRecordEntry): ToolResult {
  const text = entry.state === "started" ? textOf.unknown : textOf.notRun(true, entry.body.failure);
  return resultOf(job, entry, "interrupted", text);
}

/** The result of a job that never came as far as an entry. */
export function unstarted(job: ToolJob, status: ToolStatus, text: string): ToolResult {
  return { callId: job.call.id, name: job.call.name, status, text, attempts: 0, durationMs: 0, files: [] };
}

/** What every event of a call carries. */
export function fieldsOf({ call, scope }: ToolJob) {
  const { turnId, conversationId, requester } = scope;
  return { turnId, conversationId, userId: requester.id, callId: call.id, tool: call.name };
}

/** Enough of a text for a log line. */
export function firstLine(text: string): string {
  return (text.trim().split("\n", 1)[0] ?? "").slice(0, 300);
}
