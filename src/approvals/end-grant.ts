/** Ends what was allowed in advance, and updates the card that allowed it. */
import type { GrantRecord } from "../ports/approval.ts";
import type { AnswerReceipt, Author } from "../ports/message.ts";
import { accepted, refused } from "./answer-text.ts";
import type { ApprovalRow } from "./card.ts";
import { type ApprovalsContext, cardRows } from "./context.ts";
import { grantDecisionsOf } from "./record.ts";

/** `End this permission` on a card. Anyone who sees the card may end the grants of its rows, as with `/remora grants revoke`. */
export async function endGrants(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  by: Author,
): Promise<AnswerReceipt> {
  const ids = new Set(rows.map(({ id }) => id));
  const grants = await context.grants.list(rows[0]?.body.conversationId);
  const own = grants.filter(({ origin }) => origin.cardId === cardId && ids.has(origin.approvalId));
  const receipts: AnswerReceipt[] = [];
  for (const grant of own) receipts.push(await revoke(context, grant, by));
  const isEnded = receipts.some((receipt) => receipt.accepted);
  return isEnded ? accepted("Ended. Such calls ask again.") : refused("This has already ended. Such calls ask again.");
}

export async function endGrant(
  context: ApprovalsContext,
  grantId: string,
  by: Author,
  conversationId?: string,
): Promise<AnswerReceipt> {
  const entry = await context.ledger.get("grant", grantId);
  if (entry === undefined) return (await context.grants.revoke(grantId, by, conversationId)).receipt;
  return await revoke(context, entry.body, by, conversationId);
}

async function revoke(
  context: ApprovalsContext,
  { id, origin }: GrantRecord,
  by: Author,
  conversationId?: string,
): Promise<AnswerReceipt> {
  let receipt: AnswerReceipt = refused("");
  await context.notices.around(origin.cardId, [], false, async () => {
    const revoked = await context.grants.revoke(id, by, conversationId);
    receipt = revoked.receipt;
    const decision = revoked.grant === undefined ? undefined : grantDecisionsOf(revoked.grant).at(-1);
    if (decision === undefined) return [];
    context.records.announce(decision);
    return (await cardRows(context.ledger, origin.cardId))?.rows ?? [];
  });
  return receipt;
}
