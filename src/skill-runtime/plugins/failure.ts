/** Turns a plugin's exception into a failed attempt: a message for the model, and whether a retry may help. */
import { codeOf, isAbort, messageOf, RemoraError } from "../../lib/errors.ts";
import { isTransientCode } from "../../lib/transient-errors.ts";
import type { ToolAttempt } from "../../ports/tool.ts";

const maxCauses = 8;
/** Replaces Node's own message, which names a command-line flag that nobody can set here. */
const undeclared = "The skill's SKILL.md does not declare this under `permissions`. Tell the operator.";

/** What went wrong before the tool itself ran. Nothing has taken effect, so another attempt repeats nothing. */
export class CallNotStarted extends Error {
  constructor(cause: unknown) {
    super("the tool did not start", { cause });
    this.name = "CallNotStarted";
  }
}

/** Rejects with `CallNotStarted` if this work, which prepares the call, fails. */
export async function beforeStart<T>(work: Promise<T>): Promise<T> {
  return await work.catch((thrown: unknown) => {
    throw new CallNotStarted(thrown);
  });
}

/** Accepts whatever was thrown, even `undefined` or an object whose properties throw. */
export function attemptOf(thrown: unknown, place: string): ToolAttempt {
  try {
    if (thrown instanceof CallNotStarted) return { ...attemptOf(thrown.cause, place), isRetryable: true };
    const retryAfterMs = retryAfterOf(thrown);
    return {
      isOk: false,
      text: describe(thrown, place),
      files: [],
      isRetryable: isPassing(thrown, 0),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  } catch {
    return failed(`${place} failed with an error that can't be read.`);
  }
}

export function failed(text: string, isRetryable = false): ToolAttempt {
  return { isOk: false, text, files: [], isRetryable };
}

export function refused(text: string): ToolAttempt {
  return { ...failed(text), isAnswer: true };
}

function describe(thrown: unknown, place: string): string {
  const why = messageOf(thrown);
  const cause = thrown instanceof Error && thrown.cause !== undefined ? messageOf(thrown.cause) : "";
  const hint = codeOf(thrown) === "ERR_ACCESS_DENIED" ? ` ${undeclared}` : "";
  return `${place} failed: ${why === "" ? "the error has no message" : why}${cause === "" || why.includes(cause) ? "" : ` (${cause})`}${hint}`;
}

function isPassing(thrown: unknown, depth: number): boolean {
  if (typeof thrown !== "object" || thrown === null || depth > maxCauses) return false;
  if (thrown instanceof RemoraError) return thrown.isRetryable;
  const code = codeOf(thrown);
  if (code !== undefined && isTransientCode(code)) return true;
  const status = statusOf(thrown);
  if (status !== undefined) return status === 429 || status >= 500;
  if (thrown instanceof AggregateError) return thrown.errors.some((error) => isPassing(error, depth + 1));
  if ("cause" in thrown && thrown.cause !== undefined) return isPassing(thrown.cause, depth + 1);
  if (!(thrown instanceof Error) || isAbort(thrown)) return false;
  return (
    thrown.name === "TimeoutError" ||
    thrown.message === "fetch failed" ||
    /\b(?:HTTP|status)(?: code)?:? (?:429|5\d\d)\b/i.test(thrown.message)
  );
}

function statusOf(thrown: object): number | undefined {
  for (const key of ["status", "statusCode"] as const) {
    const value: unknown = Reflect.get(thrown, key);
    if (typeof value === "number" && value >= 400 && value <= 599) return value;
  }
  return undefined;
}

function retryAfterOf(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("retryAfterMs" in thrown)) return undefined;
  const { retryAfterMs } = thrown;
  return typeof retryAfterMs === "number" && retryAfterMs >= 0 ? retryAfterMs : undefined;
}
