/** Saves a card, or adds a turn to an existing one. */
import type { ReplyTarget } from "../ports/message.ts";
import type { ApprovalsContext } from "./context.ts";

export async function saveCard(
  context: ApprovalsContext,
  { target, turnId }: { target: ReplyTarget; turnId: string },
  cardId: string,
): Promise<void> {
  const { platform, conversationId } = target;
  const body = { platform, conversationId, turnIds: [turnId], messages: [] };
  if (await context.ledger.create("card", cardId, { state: "made", body, group: conversationId })) return;
  await context.ledger.transition("card", cardId, ["made"], "made", (card) => ({
    ...card,
    turnIds: [...new Set([...card.turnIds, turnId])],
  }));
}
