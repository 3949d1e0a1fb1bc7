/** Lists the active turns in the ledger, and asks turns to end, even if another process runs them. */
import type { AbortCause } from "../../lib/abort.ts";
import type { Bus } from "../../ports/cluster.ts";
import type { Work } from "../../ports/conversation.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { TurnRecord, TurnState } from "../../ports/turn.ts";

export async function activeTurns(
  ledger: Ledger,
  conversationId: string,
  states: TurnState[] = ["running", "parked"],
): Promise<TurnRecord[]> {
  const entries = await ledger.list("turn", { states, group: conversationId });
  return entries.map((entry) => entry.body);
}

/**
 * What goes on in a conversation besides this turn, and besides what turns do when people have seen their end. Cards and
 * questions count, except for budgets, which end with their turn.
 */
export async function workIn(ledger: Ledger, conversationId: string, besides?: string): Promise<Work> {
  const turns = await ledger.list("turn", { states: ["running", "parked"], group: conversationId });
  const others = turns.filter(({ id, state, body }) => id !== besides && !(state === "running" && body.isEndShown));
  if (others.some(({ state }) => state === "running")) return "running";
  // Also one whose card was answered just now.
  if (others.length > 0) return "waiting";
  const [approvals, questions] = await Promise.all([
    ledger.list("approval", { states: ["open"] }),
    ledger.list("question", { states: ["open"] }),
  ]);
  const isWaiting =
    approvals.some(({ body }) => body.conversationId === conversationId && body.budget?.isBlocking !== false) ||
    questions.some(({ body }) => body.target.conversationId === conversationId);
  return isWaiting ? "waiting" : "none";
}

/** False if people answered while the turn was being parked. The caller must then wake the turn. */
export async function isWaitingForApproval(ledger: Ledger, turn: TurnRecord): Promise<boolean> {
  const approvals = await ledger.list("approval", { states: ["open"], group: turn.id });
  return approvals.some(({ body }) => body.budget?.isBlocking !== false);
}

export interface TurnEnderOptions {
  ledger: Ledger;
  bus: Bus;
  /** Cancels the turn's approvals so that later answers do not count. People and the model read why. */
  cancelApprovals(turnId: string, reason: string): Promise<void>;
}

/** Returns the number of turns that it asked to end. The others had already ended. */
export type EndTurns = (turns: readonly TurnRecord[], cause: AbortCause) => Promise<number>;

export function createTurnEnder({ ledger, bus, cancelApprovals }: TurnEnderOptions): EndTurns {
  /** Stores the abort in the ledger for the turn's current or next worker. The bus message only speeds this up. */
  async function end({ id: turnId, conversationId }: TurnRecord, cause: AbortCause): Promise<boolean> {
    const marked = (turn: TurnRecord) => ({ ...turn, abort: cause });
    if ((await ledger.transition("turn", turnId, ["running"], "running", marked)) !== undefined) {
      bus.publish({ type: "abort", conversationId, turnId, cause });
      return true;
    }
    const woken = (turn: TurnRecord) => ({ ...marked(turn), wokenAt: Date.now() });
    if ((await ledger.transition("turn", turnId, ["parked"], "parked", woken)) === undefined) return false;
    await cancelApprovals(turnId, "the turn was stopped");
    // Wake the conversation's worker, which ends the turn like a running one.
    bus.publish({ type: "work", conversationId, turnId });
    return true;
  }

  return async (turns, cause) => {
    const ended = await Promise.all(turns.map((turn) => end(turn, cause)));
    return ended.filter(Boolean).length;
  };
}
