/** Error messages for people: `[place] what, why, what to do`. Ports return expected failures as values instead. */

import { withoutPlace } from "./text/without-place.ts";

export interface FailureOptions {
  /** Stable and machine-readable, e.g. `config.unknown-key`. */
  code: string;
  place: string;
  message: string;
  /** A retry may succeed (network, timeout, 429, 5xx). Set by the code that knows the cause. */
  isRetryable?: boolean;
  retryAfterMs?: number;
  /** What else owners should know. People in a chat do not read it. */
  detail?: string;
  /** What everybody may read, and later prompts have: the message without its place and without the words of others. */
  plain?: string | undefined;
  cause?: unknown;
}

export class RemoraError extends Error {
  readonly code: string;
  readonly place: string;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly detail: string | undefined;
  readonly plain: string;

  constructor(options: FailureOptions) {
    super(`[${options.place}] ${options.message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "RemoraError";
    this.code = options.code;
    this.place = options.place;
    this.isRetryable = options.isRetryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.detail = options.detail;
    this.plain = options.plain ?? withoutPlace(this.message);
  }
}

export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === "string" ? thrown : String(thrown);
}

/** Returns the `code` of a Node system error (`ENOENT`, …) or of a RemoraError. */
export function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}

/** For `.catch`: returns `otherwise` if a file or folder does not exist, and throws any other error. */
export function ifMissing<T>(otherwise: T): (thrown: unknown) => T {
  return (thrown) => {
    if (codeOf(thrown) === "ENOENT") return otherwise;
    throw thrown;
  };
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === "AbortError" || codeOf(thrown) === "ABORT_ERR");
}

/** Finds a RemoraError among an error's causes, because libraries wrap errors and lose their messages. */
export function remoraErrorIn(thrown: unknown): RemoraError | undefined {
  const seen = new Set<unknown>();
  for (let link = thrown; link instanceof Error && !seen.has(link); link = originalOf(link)) {
    if (link instanceof RemoraError) return link;
    seen.add(link);
  }
  return undefined;
}

/** Slack's libraries use `original` for a cause. */
function originalOf(link: Error): unknown {
  return link.cause ?? ("original" in link ? link.original : undefined);
}
