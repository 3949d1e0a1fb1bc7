/**
 * Each message of a card has one writer at a time, in any process. The writer reads the card once it has the lock, so the
 * parts of a long card are posted once, and the latest state is shown last. Every change of a card is followed by a write.
 */
import { createWithLock, type LockWaits } from "../lib/with-lock.ts";
import type { ApprovalCard } from "../ports/card.ts";
import type { Leases, WithLock } from "../ports/cluster.ts";

export interface CardWriterOptions {
  leases: Leases;
  /** The card as it is now, as this turn shows it. */
  cardNow(cardId: string, turnId: string): Promise<ApprovalCard | undefined>;
}

/** `put` shows one state of the card. It gets the latest state, and runs again if that has changed in the meantime. */
type WriteCard = (card: ApprovalCard, put: (now: ApprovalCard) => Promise<void>) => Promise<void>;

/** Rejects with `coordination.busy` if the message has another writer for too long. */
export interface CardWriter {
  ask: WriteCard;
  /** Waits for no other writer: who settles a card tries again until it is shown. */
  settle: WriteCard;
}

/** While a service is away, a writer may hold its lock for minutes, so others ask for it only once a second. */
const askWaits: LockWaits = { longest: 30_000, between: 1_000 };
const settleWaits: LockWaits = { longest: 0, between: 0 };

/** A card that keeps changing is left to the writes that follow each change. */
const maxLooks = 10;

export function createCardWriter({ leases, cardNow }: CardWriterOptions): CardWriter {
  const writeUnder =
    (withLock: WithLock): WriteCard =>
    ({ id, target }, put) =>
      withLock(`card:${target.turnId}:${id}`, async () => {
        let shown: string | undefined;
        // Look again after writing: a process that stalled may have lost its lock to another one that has a newer state.
        for (let looks = 0; looks < maxLooks; looks += 1) {
          const now = await cardNow(id, target.turnId);
          const state = JSON.stringify(now);
          if (now === undefined || state === shown) return;
          await put({ ...now, target });
          shown = state;
        }
      });

  return {
    ask: writeUnder(createWithLock(leases, askWaits)),
    settle: writeUnder(createWithLock(leases, settleWaits)),
  };
}
