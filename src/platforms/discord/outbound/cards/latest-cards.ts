/** Settling saves the card, then looks for its message; posting does the reverse. So each notices the other. */
import type { ApprovalCard } from "../../../../ports/card.ts";
import type { Json } from "../../../../ports/message.ts";
import type { Store } from "../../../../ports/store.ts";

export interface LatestCards {
  note(card: ApprovalCard): Promise<void>;
  find(cardId: string): Promise<ApprovalCard | undefined>;
}

/** Posting takes minutes at most, so an hour is enough. */
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
