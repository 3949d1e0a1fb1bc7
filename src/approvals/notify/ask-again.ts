/**
 * Asks again about calls whose approval has expired. A new turn of the requester begins with exactly these calls: the
 * gate judges them anew, a new card asks, and nothing runs without its approval.
 */

import { messageOf } from "../../lib/errors.ts";
import { inZoneOf } from "../../lib/time-zones.ts";
import type { AnswerReceipt, Author, InboundMessage } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { scheduleOf } from "../../ports/usage.ts";
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
  const { repeats } = context;
  if (repeats === undefined || expired.length === 0) return refused(await alreadySettledText(context, rows));
  const asked = expired.find(({ body }) => body.askedAgain !== undefined)?.body.askedAgain;
  if (asked !== undefined) return refused(cleaner(context.mask)(`${asked.name} has already asked again.`));
  const own = expired.filter(({ body }) => mayTakeBack(context, body, click.by, click.isOperator));
  if (own.length === 0) return refused(await notYoursText(context, expired, click));
  const messages: InboundMessage[] = [];
  for (const [turnId, ofTurn] of Map.groupBy(own, ({ body }) => body.turnId)) {
    const turn = (await context.ledger.get("turn", turnId))?.body;
    if (turn === undefined) return refused(gone);
    const verdict = await repeats.mayRepeat(turn, click.by);
    if (verdict.type === "refused") return refused(cleaner(context.mask)(verdict.text));
    const message = messageFor(context, turn, verdict.requester, ofTurn);
    if (message === undefined) return refused(gone);
    messages.push(message);
  }
  for (const message of messages) {
    // The id of the message is fixed, so a second click after a crash starts no second turn.
    await repeats.accept(message).catch((thrown: unknown) => {
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

function messageFor(
  { now }: ApprovalsContext,
  turn: TurnRecord,
  author: Author,
  rows: ApprovalRow[],
): InboundMessage | undefined {
  const [first] = turn.messages;
  const [row] = rows;
  if (first === undefined || row === undefined) return undefined;
  const scheduleId = scheduleOf(turn);
  return {
    ...first,
    id: `schedule:reask-${row.id}:${row.body.createdAt}`,
    author: inZoneOf(first.author, author),
    ...(scheduleId === undefined ? {} : { scheduleId }),
    text: turn.messages.map(({ text }) => text).join("\n\n"),
    attachments: turn.messages.flatMap(({ attachments }) => attachments),
    at: now(),
    askAgain: rows.map(({ id }) => id),
  };
}
