import { messageOf, RemoraError } from "../../lib/errors.ts";

/** `reason` follows `platform.` in the error's code. `plain` is what people read, if it is not the message. */
export function platformError(
  platform: string,
  reason: string,
  message: string,
  cause?: unknown,
  plain?: string,
): RemoraError {
  return new RemoraError({ code: `platform.${reason}`, place: `platform ${platform}`, message, plain, cause });
}

/** See `isNoRoute` in ports/platform.ts. `why` ends the sentence "I can't write in #x: ", which people read. */
export function noRoute(platform: string, what: string, why: string, cause?: unknown): RemoraError {
  return platformError(platform, "no-route", `nobody would see it: ${what}`, cause, why);
}

/** The turn goes on as if the service were away, and then finds out that another process has it. */
export function replyLost(platform: string): RemoraError {
  const message = "another process may continue this reply";
  return new RemoraError({ code: "platform.reply-lost", place: `platform ${platform}`, message, isRetryable: true });
}

/** See `isPlatformAway` in ports/platform.ts. */
export function platformAway(platform: string, cause: unknown): RemoraError {
  const message = `accepts nothing at the moment: ${messageOf(cause)}`;
  const plain = "the service accepts nothing at the moment. Try again in a while.";
  return new RemoraError({
    code: "platform.away",
    place: `platform ${platform}`,
    message,
    plain,
    isRetryable: true,
    cause,
  });
}
