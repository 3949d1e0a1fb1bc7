/** Turns that have not ended, as the ledger has them, and how one is asked to end, wherever it runs or waits. */
import type { AbortCause } from "../../lib/abort.ts";
import type { Bus } from "../../ports/cluster.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { TurnRecord, TurnState } from "../../ports/turn.ts";

/** Of one conversation. */
export async function turnsOf(
  ledger: Ledger,
  conversationId: string,
  states: TurnState[] = ["running", "parked"],
): Promise<TurnRecord[]> {
  const entries = await ledger.list("turn", { states, group: conversationId });
  return entries.map((entry) => entry.body);
}

/** The answer may have come while the turn was parking; then nobody else will wake it. */
export async function isStillWaiting(ledger: Ledger, turn: TurnRecord): Promise<boolean> {
  const approvals = await ledger.list("approval", { states: ["open"], group: turn.id });
  return approvals.length > 0;
}

export interface EndingOptions {
  ledger: Ledger;
  bus: Bus;
  /** From now on no answer counts for what this turn waits for. */
  cancelApprovals(turnId: string): Promise<void>;
}

/** Returns how many of the turns it has asked to end; the others had ended by then. */
export type EndAll = (turns: readonly TurnRecord[], cause: AbortCause) => Promise<number>;

export function createEnding({ ledger, bus, cancelApprovals }: EndingOptions): EndAll {
  /** The ledger says so for whoever runs the turn, or takes it up next; the bus says it at once. */
  async function end({ id: turnId, conversationId }: TurnRecord, cause: AbortCause): Promise<boolean> {
    const marked = (turn: TurnRecord) => ({ ...turn, abort: cause });
    if ((await ledger.transition("turn", turnId, ["running"], "running", marked)) !== undefined) {
      bus.publish({ type: "abort", conversationId, turnId, cause });
      return true;
    }
    if ((await ledger.transition("turn", turnId, ["parked"], "parked", marked)) === undefined) return false;
    await cancelApprovals(turnId);
    // It ends in its lane, as a running one does.
    bus.publish({ type: "work", conversationId, turnId });
    return true;
  }

  return async (turns, cause) => {
    const ended = await Promise.all(turns.map((turn) => end(turn, cause)));
    return ended.filter(Boolean).length;
  };
}
