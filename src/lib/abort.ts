/** Why a turn was aborted: the reason of the signal that every stage gets. */

/**
 * - `stopped`: a person said stop, or deleted the message; the turn ends.
 * - `interrupted`: a newer message took its place (`overlap: interrupt`); the turn ends.
 * - `shutdown`: the process is going down; the turn stays as it is in the ledger and goes on after the next start.
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
