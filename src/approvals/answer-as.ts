/**
 * Answers of people who have signed in to the dashboard. The rules are those of the chat: the person is looked up again,
 * with the roles of now, and must satisfy the rule recorded with the request and the current one.
 */
import { messageOf } from "../lib/errors.ts";
import type { AnsweringPerson, OperatorDecision } from "../ports/approval.ts";
import type { AnswerReceipt, Author, ReplyTarget } from "../ports/message.ts";
import { answerCard } from "./answer.ts";
import { refused, unknownCard } from "./answer-text.ts";
import { isDashboardPlatform, reaches } from "./authority.ts";
import { type ApprovalsContext, cardRows } from "./context.ts";
import { mayStillAnswer } from "./may-answer.ts";

const hasLeft = "You can't answer this: you are no longer where it was asked, so nothing was changed.";

export async function answerAs(
  context: ApprovalsContext,
  person: AnsweringPerson,
  { cardOrApprovalId: id, choice, reason, parts }: OperatorDecision,
): Promise<AnswerReceipt> {
  const row = await context.ledger.get("approval", id);
  const target = row?.body.target ?? (await cardRows(context.ledger, id))?.rows[0]?.body.target;
  if (target === undefined) return refused(unknownCard);
  let by: Author | undefined;
  try {
    by = await personNow(context, person, target);
  } catch (thrown) {
    context.log.warn({ person: person.by.id, error: messageOf(thrown) }, "could not look up who answers a card");
    return refused("Could not check whether you may answer this, so nothing was changed. Try again in a moment.");
  }
  if (by === undefined) return refused(hasLeft);
  return await answerCard(context, {
    ...{ id, choice, by, isOperator: false, platform: person.platform },
    ...(reason === undefined ? {} : { reason }),
    ...(parts === undefined ? {} : { parts }),
  });
}

/** A person who can't be looked up now can answer nothing. */
export async function answerableBy(
  context: ApprovalsContext,
  person: AnsweringPerson,
  cardIds: readonly string[],
): Promise<Set<string>> {
  const found = await Promise.all(cardIds.map((cardId) => cardRows(context.ledger, cardId)));
  const ids = new Set<string>();
  for (const { rows } of found.filter((card) => card !== undefined)) {
    const [first] = rows;
    if (first === undefined) continue;
    const by = await personNow(context, person, first.body.target).catch(() => undefined);
    if (by === undefined) continue;
    for (const row of rows) if (mayStillAnswer(context, row, by, person.platform)) ids.add(row.id);
  }
  return ids;
}

/** Undefined if the person has left. A person of another chat service has no place here, so is not looked up. */
async function personNow(
  { authority }: ApprovalsContext,
  { platform, by }: AnsweringPerson,
  target: ReplyTarget,
): Promise<Author | undefined> {
  const isElsewhere = !isDashboardPlatform(platform) && !reaches(platform, target.platform);
  if (authority === undefined || isElsewhere) return by;
  const found = await authority(by, { ...target, platform });
  return found?.id === by.id ? found : undefined;
}
