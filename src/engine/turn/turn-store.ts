/**
 * The journal of one running turn: the record in hand, and the only way to write it.
 *
 * `save` is a compare-and-set on `running` and on the turn's owner: when someone else has ended or taken over the turn
 * meanwhile, it throws `TurnOwnershipLost`, and the holder must stop touching it.
 */
import { randomUUID } from "node:crypto";
import type { TurnFields } from "../../ports/events.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { requesterOf, type TurnRecord, type TurnState } from "../../ports/turn.ts";
import type { Delivery, TurnDeps } from "../../ports/turn-deps.ts";

export class TurnOwnershipLost extends Error {
  constructor(turnId: string) {
    super(`turn ${turnId} is no longer running here`);
    this.name = "TurnOwnershipLost";
  }
}

/** What the parts of `runTurn` share while they work on one turn. */
export interface TurnRun {
  turn: TurnRecord;
  stages: TurnDeps;
  delivery: Delivery;
  signal: AbortSignal;
  fields: TurnFields;
  save(state?: TurnState): Promise<void>;
}

export function fieldsOf(turn: TurnRecord): TurnFields {
  return { turnId: turn.id, conversationId: turn.conversationId, userId: requesterOf(turn).id };
}

/** A claim: from now on nobody else's run of it counts. */
export function owned(turn: TurnRecord): TurnRecord {
  return { ...turn, owner: randomUUID() };
}

/** Writes the record as it is now and moves it to `state`. What others may write into a running turn is kept. */
export async function saveTurn(ledger: Ledger, turn: TurnRecord, state: TurnState = "running"): Promise<void> {
  const kept = await ledger.transition("turn", turn.id, ["running"], state, (stored) => {
    if (stored.owner !== turn.owner) return undefined;
    return stored.abort === undefined ? turn : { ...turn, abort: stored.abort };
  });
  if (kept === undefined) throw new TurnOwnershipLost(turn.id);
  if (kept.body.abort !== undefined) turn.abort = kept.body.abort;
}
