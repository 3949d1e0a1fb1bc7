/** Why a turn was aborted. Carried as the reason of its signal. */

/**
 * - `stopped`: a person said stop, or deleted the message; the turn ends.
 * - `interrupted`: a newer message replaces it (`overlap: interrupt`); the turn ends.
 * - `shutdown`: the process ends; the turn stays in the ledger and resumes after the next start.
 */
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
