/** Why a turn was aborted. The reason of the turn's signal is one of these causes. */

/** `stopped` (by a person), `withdrawn` (its message was deleted) and `interrupted` (by a newer one) end the turn; after `shutdown`, it resumes later. */
export type AbortCause = "stopped" | "withdrawn" | "interrupted" | "shutdown";

export class TurnAbort extends Error {
  readonly reason: AbortCause;

  constructor(reason: AbortCause) {
    super(`turn ${reason}`);
    this.name = "AbortError";
    this.reason = reason;
  }
}

/** A plain abort counts as `stopped`. */
export function abortCauseOf(signal: AbortSignal): AbortCause {
  return signal.reason instanceof TurnAbort ? signal.reason.reason : "stopped";
}
