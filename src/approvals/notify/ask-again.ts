/**
 * Asks again about calls whose approval has expired. A new turn of the requester begins with exactly these calls: the
 * gate judges them anew, a new card asks, and nothing runs without its approval.
 */
import { messageOf } from "../../lib/errors.ts";
import type { AnswerReceipt, InboundMessage } from "../../ports/message.ts";
import { requesterOf } from "../../ports/turn.ts";
import { accepted, alreadySettledText, notYoursText, refused } from "../answer-text.ts";
import type { ApprovalRow } from "../card.ts";
import { cleaner } from "../card-text.ts";
import { mayTakeBack } from "../changes.ts";
import type { Click } from "../click.ts";
import type { ApprovalsContext } from "../context.ts";
import { isExpiredCall } from "./audience.ts";

const gone = "The request is no longer on record. Write it again.";

export async function askAgain(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const expired = rows.filter(isExpiredCall);
  if (context.accept === undefined || expired.length === 0) return refused(await alreadySettledText(context, rows));
  const asked = expired.find(({ body }) => body.askedAgain !== undefined)?.body.askedAgain;
  if (asked !== undefined) return refused(cleaner(context.mask)(`${asked.name} has already asked again.`));
  const own = expired.filter(({ body }) => mayTakeBack(body, click.by, click.isOperator));
  if (own.length === 0) return refused(await notYoursText(context, expired, click));
  for (const [turnId, ofTurn] of Map.groupBy(own, ({ body }) => body.turnId)) {
    const message = await messageFor(context, turnId, ofTurn);
    if (message === undefined) return refused(gone);
    // The id of the message is fixed, so a second click after a crash starts no second turn.
    await context.accept(message).catch((thrown: unknown) => {
      context.log.error({ cardId, error: messageOf(thrown) }, "could not ask again about an expired call");
      throw thrown;
    });
  }
  const { id, name } = click.by;
  await context.notices.around(cardId, [], false, async () => {
    const marked = own.map((row) =>
      context.ledger.transition("approval", row.id, ["expired"], "expired", (body) => ({
        ...body,
        askedAgain: { id, name },
      })),
    );
    return (await Promise.all(marked)).filter((row) => row !== undefined);
  });
  return accepted("Asking again. A new card is on its way.");
}

async function messageFor(
  { ledger, now }: ApprovalsContext,
  turnId: string,
  rows: ApprovalRow[],
): Promise<InboundMessage | undefined> {
  const turn = (await ledger.get("turn", turnId))?.body;
  const [first] = turn?.messages ?? [];
  const [row] = rows;
  if (turn === undefined || first === undefined || row === undefined) return undefined;
  return {
    ...first,
    id: `schedule:reask-${row.id}:${row.body.createdAt}`,
    author: requesterOf(turn),
    text: turn.messages.map(({ text }) => text).join("\n\n"),
    attachments: turn.messages.flatMap(({ attachments }) => attachments),
    at: now(),
    askAgain: rows.map(({ id }) => id),
  };
}
