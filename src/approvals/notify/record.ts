/** Reads and changes the record of who is told about a card. After a change, the next sweep looks at the card. */
import type { NotifyRecord } from "../../ports/approval.ts";
import type { ReplyTarget } from "../../ports/message.ts";
import type { ApprovalsContext, CardRows } from "../context.ts";

export async function changeRecord(
  { ledger, now }: ApprovalsContext,
  cardId: string,
  change: (record: NotifyRecord) => NotifyRecord | undefined,
): Promise<void> {
  await ledger.transition("card", cardId, ["made"], "made", (card) => {
    const notify = card.notify === undefined ? undefined : change(card.notify);
    return notify === undefined ? undefined : { ...card, notify, nextCheckAt: now() };
  });
}

/** Where the card is. Undefined until it is posted there. */
export function mainTarget({ card: { turnIds, messages }, rows }: CardRows): ReplyTarget | undefined {
  const [turnId] = turnIds;
  const isPosted = messages.some((message) => message.turnId === turnId);
  return isPosted ? rows.find(({ body }) => body.turnId === turnId)?.body.target : undefined;
}

/** Infinite for a card that never expires. */
export function halfTimeOf({ decidedAt }: NotifyRecord, rows: CardRows["rows"]): number {
  const ends = rows.flatMap(({ state, body }) => (state === "open" && body.expiresAt !== null ? [body.expiresAt] : []));
  return ends.length === 0 ? Number.POSITIVE_INFINITY : decidedAt + (Math.min(...ends) - decidedAt) / 2;
}
