/**
 * Runs calls for every kind of queue: makes one attempt and handles its outcome, or ends a call without further
 * attempts. Each step returns the resulting entry. Events are emitted once, by the caller that made the change.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { abortCauseOf } from "../../lib/abort.ts";
import type { Backoff } from "../../lib/backoff.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { logContext } from "../../lib/log-context.ts";
import type { Redact } from "../../lib/redact.ts";
import type { Audit } from "../../ports/audit.ts";
import { type EphemeralTexts, notKeptText, resultKey } from "../../ports/ephemeral.ts";
import type { Events } from "../../ports/events.ts";
import type { FileOrigins } from "../../ports/file-origins.ts";
import type { Scope } from "../../ports/message.ts";
import { type Origin, originOf, untrustedFor } from "../../ports/origin.ts";
import type { Toolbox, ToolJob, ToolResult } from "../../ports/tool.ts";
import { runAttempt } from "./attempt.ts";
import type { CallRecord, CallRecordEntry, SeenCall } from "./call-store.ts";
import { type AfterAttempt, afterAttempt, cutOffText, fieldsOf, firstLine, resultOf, textOf } from "./outcome.ts";
import { limitOutput, outputName } from "./output.ts";

export interface CallExecutorOptions {
  toolbox: Toolbox;
  events: Events;
  audit: Audit;
  backoff: Backoff;
  /** Characters of a tool's output that the model reads. Longer output is stored in full in a file. */
  outputLimit: number;
  outputsFolder(scope: Scope): string;
  fileOrigins?: Pick<FileOrigins, "mark">;
  ephemeral: Pick<EphemeralTexts, "put">;
  redact: Redact;
  log: Log;
}

export interface CallExecutor {
  /**
   * Makes an attempt if no other caller has started it; calls `begun` just before the tool runs. Afterwards the call
   * has ended or waits for its next attempt. If the abort cause is `shutdown`, the call stays `started`.
   */
  attempt(job: ToolJob, seen: SeenCall, signal: AbortSignal, begun: () => void): Promise<CallRecordEntry>;
  /** Ends a call without another attempt: as not run, or with an unknown outcome if an attempt had already started. */
  giveUp(job: ToolJob, entry: CallRecordEntry): Promise<CallRecordEntry>;
  finish(job: ToolJob, entry: CallRecordEntry, state: "done" | "unknown", result: ToolResult): Promise<CallRecordEntry>;
  /** Whether an interrupted attempt may be repeated. Limited, because the tool itself may crash the process. */
  mayRunAgain(job: ToolJob, entry: CallRecordEntry): boolean;
  reportStalled(job: ToolJob, entry: CallRecordEntry): void;
}

export function createCallExecutor(record: CallRecord, options: CallExecutorOptions): CallExecutor {
  const { toolbox, events, log } = options;

  async function retryLater(
    job: ToolJob,
    entry: CallRecordEntry,
    { waitMs, text, isEphemeral }: Extract<AfterAttempt, { type: "retry" }>,
  ): Promise<CallRecordEntry> {
    const message = firstLine(isEphemeral === true ? notKeptText : options.redact(text));
    try {
      const waiting = await record.postpone(entry, Date.now() + waitMs, message);
      if (waiting.isMine) {
        log.info({ jobId: job.id, attempts: entry.body.attempts, waitMs }, "a tool call failed and will be retried");
        events.emit("tool.retried", { ...fieldsOf(job), attempt: entry.body.attempts + 1, waitMs, message });
      }
      return waiting.entry;
    } catch (thrown) {
      log.error({ jobId: job.id, error: messageOf(thrown) }, "could not store a retry, so there is none");
      return await settle(job, entry, { type: "end", status: "failed", text, isEphemeral });
    }
  }

  /** Call before the tool runs. Returns an explanation if recording failed; the tool must then not run. */
  async function recordStart(job: ToolJob, attempt: number): Promise<string | undefined> {
    const { call, approvalId } = job;
    const fields = { ...fieldsOf(job), input: JSON.stringify(call.input) };
    try {
      const approval = approvalId === undefined ? {} : { approvalId };
      await options.audit.record("tool.called", { ...fields, attempt, ...approval });
    } catch (thrown) {
      log.error(
        { jobId: job.id, error: messageOf(thrown) },
        "a tool call did not run because it could not be recorded",
      );
      return textOf.unkept(messageOf(thrown));
    }
    if (attempt === 1) events.emit("tool.called", fields);
    return undefined;
  }

  /** Handles an abort during the ledger step: the attempt counts, but the tool has certainly not run. */
  async function leaveOut(job: ToolJob, entry: CallRecordEntry, signal: AbortSignal): Promise<CallRecordEntry> {
    if (abortCauseOf(signal) === "shutdown") {
      return (await record.postpone(entry, Date.now(), "it was interrupted before it started")).entry;
    }
    return await finish(job, entry, "done", resultOf(job, entry, "interrupted", textOf.notRun(false)));
  }

  async function settle(
    job: ToolJob,
    entry: CallRecordEntry,
    { status, text, ...outputs }: Extract<AfterAttempt, { type: "end" }>,
  ): Promise<CallRecordEntry> {
    const folder = options.outputsFolder(job.scope.scope);
    const limit = { characters: options.outputLimit, jobId: job.id };
    const clean = options.redact(text);
    const isEphemeral = outputs.isEphemeral === true;
    const readable = await limitOutput(clean, isEphemeral ? limit : { ...limit, folder });
    if (readable !== clean && !isEphemeral) await markOutput(job, folder, outputs.origins);
    // First, because whoever waits for the result looks for its text as soon as the result is there.
    if (isEphemeral) options.ephemeral.put(resultKey(job.id), readable);
    const result = resultOf(job, entry, status, isEphemeral ? notKeptText : readable, outputs);
    return await finish(job, entry, status === "interrupted" ? "unknown" : "done", result);
  }

  /** Must run before the result is stored, because from then on the output file can be used. */
  async function markOutput(
    { id, scope, call }: ToolJob,
    folder: string,
    origins: Origin[] | undefined,
  ): Promise<void> {
    const known = origins ?? [originOf("tool", call.name)];
    // Mark the output like a file written by the call, because a command may print arguments from the prompt.
    const untrusted = untrustedFor([...(scope.untrusted ?? []), ...known], scope.requester.id);
    const place = { root: folder, seen: folder };
    await options.fileOrigins
      ?.mark(place, [{ path: outputName(id), isNew: false }], untrusted)
      .catch(async (thrown: unknown) => {
        log.error({ jobId: id, error: messageOf(thrown) }, "could not store the origins of an output");
        await rm(join(folder, outputName(id)), { force: true });
      });
  }

  async function finish(
    job: ToolJob,
    seen: CallRecordEntry,
    state: "done" | "unknown",
    result: ToolResult,
  ): Promise<CallRecordEntry> {
    try {
      const { entry, isMine } = await record.finish(seen, state, result);
      if (isMine) report(job, result);
      return entry;
    } catch (thrown) {
      // Report the result anyway: the model must get a known outcome, even if it can't be looked up later.
      log.error({ jobId: job.id, error: messageOf(thrown) }, "could not store the result of a tool call");
      report(job, result);
      return { ...seen, state, body: { ...seen.body, result } };
    }
  }

  function report(job: ToolJob, { status, attempts, durationMs, text }: ToolResult): void {
    if (status === "ok") events.emit("tool.completed", { ...fieldsOf(job), attempts, durationMs });
    else events.emit("tool.failed", { ...fieldsOf(job), status, attempts, durationMs, message: firstLine(text) });
  }

  function mayRunAgain(job: ToolJob, { body }: CallRecordEntry): boolean {
    return job.isIdempotent && body.stop === undefined && body.attempts <= options.backoff.length;
  }

  return {
    async attempt(job, seen, signal, begun) {
      const { entry, isMine } = await record.start(seen);
      if (!isMine) return entry;
      const { attempts } = entry.body;
      const unrecorded = await recordStart(job, attempts);
      if (unrecorded !== undefined) return await finish(job, entry, "done", resultOf(job, entry, "failed", unrecorded));
      if (signal.aborted) return await leaveOut(job, entry, signal);
      begun();
      const end = await logContext.run({ turnId: job.scope.turnId }, () => runAttempt(toolbox, job, signal));
      // On shutdown, leave the entry as it is: the next start must find an interrupted attempt.
      if (end.type === "aborted" && abortCauseOf(signal) === "shutdown") return entry;
      const next = afterAttempt(job, end, attempts, options.backoff);
      return next.type === "retry" ? await retryLater(job, entry, next) : await settle(job, entry, next);
    },
    async giveUp(job, entry) {
      const { state, body } = entry;
      if (state === "started") {
        return await finish(job, entry, "unknown", resultOf(job, entry, "interrupted", cutOffText(job)));
      }
      const text = textOf.notRun(false, body.failure);
      return await finish(job, entry, "done", resultOf(job, entry, "interrupted", text));
    },
    finish,
    mayRunAgain,
    reportStalled(job, entry) {
      const fate = mayRunAgain(job, entry) ? "it will run again" : "its outcome is unknown";
      const message = `${job.call.name} was running when its process ended: ${fate}`;
      log.warn({ jobId: job.id, attempts: entry.body.attempts }, message);
      events.emit("queue.stalled", { jobId: job.id, message });
    },
  };
}
