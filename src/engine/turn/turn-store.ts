/**
 * Writes the record of a running turn. `saveTurn` checks the state `running` and the claim, so only the process that
 * claimed the turn can write it. After `TurnOwnershipLost`, the caller must stop working on the turn.
 */
import { randomUUID } from "node:crypto";
import type { TurnFields } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { requesterOf, type TurnRecord, type TurnState } from "../../ports/turn.ts";
import type { Delivery, TurnDeps } from "../../ports/turn-deps.ts";
import type { TurnProgress } from "./turn-progress.ts";

export class TurnOwnershipLost extends Error {
  constructor(turnId: string) {
    super(`turn ${turnId} is no longer claimed by this process`);
    this.name = "TurnOwnershipLost";
  }
}

/**
 * How a run ended. A `suspended` turn is still running in the ledger, and the next worker resumes it. So is an
 * `undelivered` one, once the service accepts messages again.
 */
export type TurnEnd = "done" | "failed" | "stopped" | "parked" | "suspended" | "undelivered";

export interface TurnRun {
  turn: TurnRecord;
  deps: TurnDeps;
  delivery: Delivery;
  progress: TurnProgress;
  signal: AbortSignal;
  fields: TurnFields;
  save(state?: TurnState): Promise<void>;
}

export function turnFields(turn: TurnRecord): TurnFields {
  return { turnId: turn.id, conversationId: turn.conversationId, userId: requesterOf(turn).id };
}

/** Claims the turn so that every other run of it loses ownership. */
export function claimed({ wokenAt: _, ...turn }: TurnRecord): TurnRecord {
  return { ...turn, owner: randomUUID() };
}

/** Writes the record and moves it to `state`. Keeps an abort that another process has written into the record. */
export async function saveTurn(ledger: Ledger, turn: TurnRecord, state: TurnState = "running"): Promise<void> {
  const kept = await ledger.transition("turn", turn.id, ["running"], state, (stored) => {
    if (stored.owner !== turn.owner) return undefined;
    if (stored.abort === undefined) return turn;
    // A turn that was told to end while it was being parked must not wait for an answer.
    return { ...turn, abort: stored.abort, ...(state === "parked" ? { wokenAt: Date.now() } : {}) };
  });
  if (kept === undefined) throw new TurnOwnershipLost(turn.id);
  if (kept.body.abort !== undefined) turn.abort = kept.body.abort;
}
