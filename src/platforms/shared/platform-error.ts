import { messageOf, RemoraError } from "../../lib/errors.ts";

/** `reason` follows `platform.` in the error's code. */
export function platformError(platform: string, reason: string, message: string, cause?: unknown): RemoraError {
  return new RemoraError({ code: `platform.${reason}`, place: `platform ${platform}`, message, cause });
}

/** The turn goes on as if the service were away, and then finds out that another process has it. */
export function replyLost(platform: string): RemoraError {
  const message = "another process may continue this reply";
  return new RemoraError({ code: "platform.reply-lost", place: `platform ${platform}`, message, isRetryable: true });
}

/** See `isPlatformAway` in ports/platform.ts. */
export function platformAway(platform: string, cause: unknown): RemoraError {
  const message = `accepts nothing at the moment: ${messageOf(cause)}`;
  return new RemoraError({ code: "platform.away", place: `platform ${platform}`, message, isRetryable: true, cause });
}
