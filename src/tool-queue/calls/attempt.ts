/** One attempt at a tool call. After a timeout or abort, the tool gets a short grace period, then is abandoned. */
import { pause } from "../../lib/backoff.ts";
import { messageOf } from "../../lib/errors.ts";
import type { ToolAttempt, Toolbox, ToolJob } from "../../ports/tool.ts";

/**
 * - `ended`: the tool ended without an abort or timeout, or succeeded just after one.
 * - `timed-out`, `aborted`: it is unknown what the tool has done. `hasEnded` is false if it may still be running.
 */
export type AttemptEnd =
  | { type: "ended"; attempt: ToolAttempt }
  | { type: "timed-out"; hasEnded: boolean }
  | { type: "aborted"; hasEnded: boolean };

const graceMs = 500;

/** Never rejects. */
export async function runAttempt(toolbox: Toolbox, job: ToolJob, signal: AbortSignal): Promise<AttemptEnd> {
  const controller = new AbortController();
  let cut: "timed-out" | "aborted" | undefined;
  const settled = new AbortController();
  const graceIsOver = new Promise<undefined>((resolve) => {
    controller.signal.addEventListener(
      "abort",
      () => void pause(graceMs, settled.signal).then(() => resolve(undefined)),
      {
        once: true,
      },
    );
  });
  const stop = (why: "timed-out" | "aborted", reason: unknown) => {
    cut ??= why;
    controller.abort(reason);
  };
  const onAbort = () => stop("aborted", signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => stop("timed-out", new DOMException("The tool's time is up", "TimeoutError")),
    job.timeoutMs,
  );
  try {
    const attempt = await Promise.race([runSafely(toolbox, job, controller.signal), graceIsOver]);
    if (attempt !== undefined && (cut === undefined || attempt.isOk)) return { type: "ended", attempt };
    return { type: cut ?? "aborted", hasEnded: attempt !== undefined };
  } finally {
    clearTimeout(timer);
    if (cut !== undefined) settled.abort();
    signal.removeEventListener("abort", onAbort);
  }
}

/** The toolbox must not throw. If it does anyway, the attempt has failed. */
async function runSafely(toolbox: Toolbox, job: ToolJob, signal: AbortSignal): Promise<ToolAttempt> {
  try {
    return await toolbox.run(job.call, job.scope, signal);
  } catch (thrown) {
    return { isOk: false, text: `The tool failed: ${messageOf(thrown)}`, files: [], isRetryable: false };
  }
}
