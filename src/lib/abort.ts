/** Why a turn was aborted. The turn's signal has it as its reason. */

/** `stopped` (by a person) and `interrupted` (by a newer message) end the turn; after `shutdown` it resumes. */
export type AbortCause = "stopped" | "interrupted" | "shutdown";

export class TurnAbort extends Error {
  readonly reason: AbortCause;

  constructor(reason: AbortCause) {
    super(`turn ${reason}`);
    this.name = "AbortError";
    this.reason = reason;
  }
}

/** The cause of an aborted signal; a plain abort counts as `stopped`. */
export function abortCauseOf(signal: AbortSignal): AbortCause {
  return signal.reason instanceof TurnAbort ? signal.reason.reason : "stopped";
}
