/**
 * What every queue does with a call, whoever waits for it: one attempt with all that follows from its end, and the end of a
 * call that gets no attempt any more. Each step gives back the entry as it is afterwards; what happened is told as events by
 * whoever made it happen, once.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { abortCauseOf } from "../../lib/abort.ts";
import type { Backoff } from "../../lib/backoff.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Redact } from "../../lib/redact.ts";
import type { Audit } from "../../ports/audit.ts";
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
  /** Characters of a tool's output that the model reads; the whole of it is kept in a file. */
  outputLimit: number;
  /** Where such files are kept, for conversations of this scope. */
  outputsFolder(scope: Scope): string;
  /** Such a file keeps the origins of the text. */
  fileOrigins?: Pick<FileOrigins, "mark">;
  /** Everything a tool says goes through it before it is kept or read. */
  redact: Redact;
  log: Log;
}

export interface CallExecutor {
  /**
   * Makes an attempt if it is still to be had; `begun` is called just before the tool runs. Afterwards the call has ended or
   * waits for its next attempt; after an abort as `shutdown` it is left as `started`.
   */
  attempt(job: ToolJob, seen: SeenCall, signal: AbortSignal, begun: () => void): Promise<CallRecordEntry>;
  /** Ends a call without another attempt: as not run, or, when one was under way, with an unknown outcome. */
  giveUp(job: ToolJob, entry: CallRecordEntry): Promise<CallRecordEntry>;
  finish(job: ToolJob, entry: CallRecordEntry, state: "done" | "unknown", result: ToolResult): Promise<CallRecordEntry>;
  /** Whether an attempt that was cut off may be made again. Bounded, because the tool itself may be what ends the process. */
  mayRunAgain(job: ToolJob, entry: CallRecordEntry): boolean;
  /** Tells of an attempt that nobody runs any more. */
  reportStalled(job: ToolJob, entry: CallRecordEntry): void;
}

export function createCallExecutor(record: CallRecord, options: CallExecutorOptions): CallExecutor {
  const { toolbox, events, log } = options;

  async function retryLater(
    job: ToolJob,
    entry: CallRecordEntry,
    { waitMs, text }: Extract<AfterAttempt, { type: "retry" }>,
  ): Promise<CallRecordEntry> {
    const message = firstLine(options.redact(text));
    try {
      const waiting = await record.postpone(entry, Date.now() + waitMs, message);
      if (waiting.isMine) {
        log.info({ jobId: job.id, attempts: entry.body.attempts, waitMs }, "a tool call failed and is tried again");
        events.emit("tool.retried", { ...fieldsOf(job), attempt: entry.body.attempts + 1, waitMs, message });
      }
      return waiting.entry;
    } catch (thrown) {
      log.error({ jobId: job.id, error: messageOf(thrown) }, "a retry could not be kept, so there is none");
      return await settle(job, entry, { type: "end", status: "failed", text, files: [] });
    }
  }

  /** Before the tool runs. A sentence when that failed, and then it must not run. */
  async function recordStart(job: ToolJob, attempt: number): Promise<string | undefined> {
    const { call, approvalId } = job;
    const fields = { ...fieldsOf(job), input: JSON.stringify(call.input) };
    try {
      const approval = approvalId === undefined ? {} : { approvalId };
      await options.audit.record("tool.called", { ...fields, attempt, ...approval });
    } catch (thrown) {
      log.error(
        { jobId: job.id, error: messageOf(thrown) },
        "a tool call was not run, because it could not be recorded",
      );
      return textOf.unkept(messageOf(thrown));
    }
    if (attempt === 1) events.emit("tool.called", fields);
    return undefined;
  }

  /** Aborted while the ledger was asked: the attempt counts as made, and the tool is known not to have run. */
  async function leaveOut(job: ToolJob, entry: CallRecordEntry, signal: AbortSignal): Promise<CallRecordEntry> {
    if (abortCauseOf(signal) === "shutdown") {
      return (await record.postpone(entry, Date.now(), "it was cut off before it began")).entry;
    }
    return await finish(job, entry, "done", resultOf(job, entry, "interrupted", textOf.notRun(false)));
  }

  async function settle(
    job: ToolJob,
    entry: CallRecordEntry,
    { status, text, files, origins }: Extract<AfterAttempt, { type: "end" }>,
  ): Promise<CallRecordEntry> {
    const limit = { characters: options.outputLimit, folder: options.outputsFolder(job.scope.scope), jobId: job.id };
    const clean = options.redact(text);
    const readable = await limitOutput(clean, limit);
    if (readable !== clean) await markOutput(job, limit.folder, origins);
    const result = resultOf(job, entry, status, readable, { files, origins });
    return await finish(job, entry, status === "interrupted" ? "unknown" : "done", result);
  }

  /** Nobody knows of the file before the result is kept, so that it is marked in time. */
  async function markOutput(
    { id, scope, call }: ToolJob,
    folder: string,
    origins: Origin[] | undefined,
  ): Promise<void> {
    const known = origins ?? [originOf("tool", call.name)];
    // As of files: the call's own arguments may hold what its prompt held, and a command prints them.
    const untrusted = untrustedFor([...(scope.untrusted ?? []), ...known], scope.requester.id);
    const place = { root: folder, seen: folder };
    await options.fileOrigins?.mark(place, [outputName(id)], untrusted).catch(async (thrown: unknown) => {
      log.error({ jobId: id, error: messageOf(thrown) }, "where an output comes from could not be kept");
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
      // What is known about the outcome must reach the model, even if nobody can look it up later.
      log.error({ jobId: job.id, error: messageOf(thrown) }, "the result of a tool call could not be kept");
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
      const end = await runAttempt(toolbox, job, signal);
      // The process goes down: for the next start it must look like what it is, an attempt that was cut off.
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
      const fate = mayRunAgain(job, entry) ? "it runs again" : "its outcome is unknown";
      const message = `${job.call.name} was under way when its process ended: ${fate}`;
      log.warn({ jobId: job.id, attempts: entry.body.attempts }, message);
      events.emit("queue.stalled", { jobId: job.id, message });
    },
  };
}
