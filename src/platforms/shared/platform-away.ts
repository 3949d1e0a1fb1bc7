import { messageOf, RemoraError } from "../../lib/errors.ts";

/** See `isPlatformAway` in ports/platform.ts. */
export function platformAway(platform: string, cause: unknown): RemoraError {
  const message = `accepts nothing at the moment: ${messageOf(cause)}`;
  return new RemoraError({ code: "platform.away", place: `platform ${platform}`, message, isRetryable: true, cause });
}
