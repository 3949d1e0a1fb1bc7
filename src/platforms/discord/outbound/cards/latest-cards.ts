/**
 * What became of a card while it was being posted. A click may settle it in another process, or before its message is known; then there
 * is nothing to rewrite yet. So whoever settles it says so here first and looks for the message after it, and whoever posts it keeps
 * the message first and looks here after it: one of the two always sees the other.
 */
import type { ApprovalCard } from "../../../../ports/approval.ts";
import type { Json } from "../../../../ports/message.ts";
import type { Store } from "../../../../ports/store.ts";

export interface LatestCards {
  note(card: ApprovalCard): Promise<void>;
  /** Undefined when it was not settled lately. */
  find(cardId: string): Promise<ApprovalCard | undefined>;
}

/** Posting takes minutes at most. */
const keptMs = 3_600_000;

export function createLatestCards(store: Store): LatestCards {
  return {
    note: (card) => store.set(keyOf(card.id), card as unknown as Json, keptMs),
    async find(cardId) {
      return (await store.get(keyOf(cardId))) as unknown as ApprovalCard | undefined;
    },
  };
}

function keyOf(cardId: string): string {
  return `discord:card:${cardId}`;
}
