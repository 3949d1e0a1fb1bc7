/**
 * Answers a click on a card, or the operator's decision, with a receipt of the current state. A click from another
 * conversation or message is treated like an unknown id. Clicks on one card run one by one, so "approve all" and "deny
 * all" never mix.
 */
import type { AnswerReceipt } from "../ports/message.ts";
import {
  accepted,
  alreadySettledText,
  hasLeft,
  mayNotUseNow,
  notYoursText,
  refused,
  unchecked,
  unknownCard,
  whyText,
} from "./answer-text.ts";
import { answerBudget } from "./budget.ts";
import { type ApprovalRow, groupIdentical } from "./card.ts";
import { actOnChanges, isChangeAction } from "./change-action.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, type CardRows, cardRows, expireDue, isExpired } from "./context.ts";
import { allow, approve, deny, edit, keepChosenFiles, turnIdsOf } from "./decide.ts";
import { endGrants } from "./end-grant.ts";
import { mayAnswer, standingOf } from "./may-answer.ts";
import { askAgain } from "./notify/ask-again.ts";
import { handOver } from "./notify/hand-over.ts";
import { copyTargets } from "./notify/shown.ts";

export async function answerCard(context: ApprovalsContext, given: Click): Promise<AnswerReceipt> {
  const row = await context.ledger.get("approval", given.id);
  const cardId = row?.body.cardId ?? given.id;
  const seen = await cardRows(context.ledger, cardId);
  const [first] = seen?.rows ?? [];
  if (seen === undefined || first === undefined || !isFromCard(seen, given)) return refused(unknownCard);
  if (given.by.isBot) return refused("Only people can answer approvals.");
  const answerer = isFromOutside(seen, given) ? { ...given, isFromOutside: true } : given;
  // Before the lock, because a slow service must not keep others from answering.
  const standing = await standingOf(context, first.body, answerer);
  if (standing.type !== "here") return refused(standingTexts[standing.type]);
  const click = { ...answerer, by: standing.by };
  return await context.serial(cardId, async () => {
    const found = await cardRows(context.ledger, cardId);
    if (found === undefined || found.rows.length === 0) return refused(unknownCard);
    const changesRow = found.rows.find(({ body }) => body.changes !== undefined);
    if (changesRow !== undefined && isChangeAction(click.choice)) return await actOnChanges(context, changesRow, click);
    const group = groupIdentical(found.rows).find((rows) => rows.some(({ id }) => id === click.id)) ?? found.rows;
    if (click.choice === "why") return accepted(whyText(context, group));
    if (click.choice === "end") return await endGrants(context, cardId, group, click.by);
    return await answerRows(context, cardId, group, click);
  });
}

/** Checks the message id only if the ids of all messages that show the card in this conversation are known. */
function isFromCard({ card }: CardRows, { id, from, isOperator, platform }: Click): boolean {
  if (isOperator || platform !== undefined) return true;
  if (from?.platform !== card.platform) return false;
  const copies = copyTargets(id, card).filter(({ conversationId }) => conversationId === from.conversationId);
  if (from.conversationId !== card.conversationId && copies.length === 0) return false;
  const turnIds = from.conversationId === card.conversationId ? card.turnIds : copies.map(({ turnId }) => turnId);
  const areAllKnown = turnIds.every((turnId) => card.messages.some((message) => message.turnId === turnId));
  const { messageId } = from;
  return messageId === undefined || !areAllKnown || card.messages.some((message) => message.messageId === messageId);
}

/**
 * True if the person was asked outside the card's conversation, and answers with their copy or on the dashboard. Whoever was in
 * the conversation, or asked for the call there, has a right to answer only as long as they are in it, copy or not.
 */
function isFromOutside({ card, rows }: CardRows, { by, from, platform }: Click): boolean {
  const isElsewhere = from !== undefined && from.conversationId !== card.conversationId;
  if (!isElsewhere && platform !== card.platform) return false;
  const hasAsked = rows.some(({ body }) => body.requester.id === by.id || body.alsoAsked?.includes(by.id) === true);
  return !hasAsked && card.notify?.people.some(({ id, copy }) => id === by.id && copy?.isFromOutside === true) === true;
}

async function answerRows(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const at = context.now();
  const open = rows.filter((row) => row.state === "open" && !isExpired(row.body, at));
  const due = rows.filter((row) => row.state === "open" && isExpired(row.body, at));
  if (due.length > 0) await context.notices.around(cardId, turnIdsOf(due), true, () => expireDue(context, due, at));
  if (click.choice === "reask") return await askAgain(context, cardId, await rowsNow(context, rows), click);
  if (open.length === 0) return refused(await alreadySettledText(context, rows));
  const answerable = open.filter((row) => mayAnswer(context, row, click));
  if (answerable.length === 0) return refused(await notYoursText(context, open, click));
  const isAboutBudget = answerable.every(({ body }) => body.budget !== undefined);
  if (isAboutBudget && (click.choice === "approve" || click.choice === "deny"))
    return await answerBudget(context, cardId, answerable, click);
  const unseen = answerable.find(({ body }) => body.changes?.unseen !== undefined);
  if (unseen !== undefined && approves.has(click.choice)) return refused(unseen.body.facts?.at(-1) ?? unknownCard);
  // The dashboard and the command line show all of it.
  const isInChat = !click.isOperator && click.platform === undefined;
  const isUndelivered = answerable.some(({ body }) => body.changes?.isUndelivered === true);
  if (isInChat && isUndelivered && approves.has(click.choice)) return refused(undelivered);
  switch (click.choice) {
    case "approve":
      return await approve(context, cardId, answerable, click);
    case "deny":
      return await deny(context, cardId, answerable, click);
    case "allow":
      return await allow(context, cardId, answerable, click);
    case "edit":
      return await edit(context, cardId, answerable, click);
    case "part":
      return await keepChosenFiles(context, cardId, answerable, click);
    case "diff":
    case "undo":
    case "again":
    case "why":
    case "end":
      return refused(unknownCard);
    case "handover":
      return await handOver(context, cardId, answerable, click);
    default:
      // Only a forged button carries any other choice.
      click.choice satisfies never;
      return refused(unknownCard);
  }
}

const standingTexts = { gone: hasLeft, barred: mayNotUseNow, unknown: unchecked };
const undelivered =
  "Not all of the diff could be sent here, so nobody can approve it here. Use Show diff again, the dashboard, or `remora approvals`.";
const approves: ReadonlySet<string> = new Set(["approve", "allow", "part", "edit"]);

async function rowsNow({ ledger }: ApprovalsContext, rows: ApprovalRow[]): Promise<ApprovalRow[]> {
  const now = await Promise.all(rows.map(({ id }) => ledger.get("approval", id)));
  return now.filter((row) => row !== undefined);
}
