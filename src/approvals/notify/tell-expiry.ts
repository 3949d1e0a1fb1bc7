/** Tells the requester, once, who was asked and did not answer in time. */
import { type ApprovalsContext, cardRows } from "../context.ts";
import { expiryLine } from "./lines.ts";
import { changeRecord, mainTarget } from "./record.ts";

export async function tellExpiry(context: ApprovalsContext, cardId: string): Promise<void> {
  const found = await cardRows(context.ledger, cardId);
  const record = found?.card.notify;
  if (found === undefined || record === undefined || record.expiryToldAt !== undefined) return;
  const wasAsked = record.people.length + record.roles.length > 0;
  // An approved call can also expire before it runs. Then somebody has answered.
  const isUnanswered = found.rows.some(({ state, body }) => state === "expired" && body.votes.length < body.quorum);
  const target = mainTarget(found);
  if (!wasAsked || !isUnanswered || target === undefined) return;
  await context.notify?.say(target, { key: `expired-${cardId}`, line: expiryLine(context, found) });
  await changeRecord(context, cardId, (now) => ({ ...now, expiryToldAt: context.now() }));
}
