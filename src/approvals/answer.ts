/**
 * A click on a card, or the operator's word:
 *
 *   1. the id locates the card; a click that does not come from where the card stands is as unknown as a wrong id
 *   2. rows that are due expire; of the open ones those count that this person may answer
 *   3. approve, deny, edit or allow: each row by a compare-and-set, so that of many clicks one decides
 *   4. everyone gets a receipt that says what is so now; a click that decides nothing changes nothing
 *
 * Clicks on one card are taken one after the other, so that "approve all" against "deny all" is not a mixture of both.
 */
import type { ApprovalRecord, ApprovalVote } from "../ports/approval.ts";
import type { AnswerChoice, AnswerReceipt, Author } from "../ports/message.ts";
import { type RecordedAnswer, recordAnswer } from "./audit.ts";
import { approversText, fits, requesterOf } from "./authority.ts";
import { type ApprovalRow, choicesOf, cleaner, groupsOf, minutesText, outcomeText, progressText } from "./card.ts";
import { escapeHiddenLines } from "./card-text.ts";
import { mayTakeBack } from "./changes.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, type CardRows, expireDue, isExpired, rowsOf, ruleNow, settle } from "./context.ts";
import { editRows } from "./edit.ts";
import { grantableRules } from "./grants.ts";
import { granted } from "./record.ts";

const unknownCard = "This card is not valid any more, so nothing was changed. If it is still needed, ask again.";

export async function answerCard(context: ApprovalsContext, click: Click): Promise<AnswerReceipt> {
  const row = await context.ledger.get("approval", click.id);
  const cardId = row?.body.cardId ?? click.id;
  return await context.serial(cardId, async () => {
    const found = await rowsOf(context.ledger, cardId);
    if (found === undefined || found.rows.length === 0 || !isFromCard(found, click)) return refused(unknownCard);
    if (click.by.isBot) return refused("Only people can answer approvals.");
    const about = found.rows.find(({ body }) => body.changes !== undefined);
    if (about !== undefined && isAction(click.choice)) return await act(context, about, click);
    const meant = groupsOf(found.rows).find((group) => group.some(({ id }) => id === click.id)) ?? found.rows;
    return await answerRows(context, cardId, meant, click);
  });
}

/** The message is compared once every message that shows the card is known. */
function isFromCard({ card }: CardRows, { from, isOperator }: Click): boolean {
  if (isOperator) return true;
  if (from?.platform !== card.platform || from.conversationId !== card.conversationId) return false;
  const areAllKnown = card.turnIds.every((turnId) => card.messages.some((message) => message.turnId === turnId));
  const { messageId } = from;
  return messageId === undefined || !areAllKnown || card.messages.some((message) => message.messageId === messageId);
}

async function answerRows(
  context: ApprovalsContext,
  cardId: string,
  meant: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const at = context.now();
  const open = meant.filter((row) => row.state === "open" && !isExpired(row.body, at));
  const due = meant.filter((row) => row.state === "open" && isExpired(row.body, at));
  if (due.length > 0) await context.notices.around(cardId, turnsOf(due), true, () => expireDue(context, due, at));
  if (open.length === 0) return refused(await lateText(context, meant));
  const mine = open.filter((row) => may(context, row, click));
  if (mine.length === 0) return refused(strangerText(context, open, click));
  switch (click.choice) {
    case "approve":
      return await approve(context, cardId, mine, click);
    case "deny":
      return await deny(context, cardId, mine, click);
    case "allow":
      return await allow(context, cardId, mine, click);
    case "edit":
      return await edit(context, cardId, mine, click);
    case "part":
      return await keepPart(context, cardId, mine, click);
    case "diff":
    case "undo":
    case "again":
      return refused(unknownCard);
    default:
      // A platform that reads the choice out of a forged button may hand in anything.
      click.choice satisfies never;
      return refused(unknownCard);
  }
}

/** Both the rule at the time of asking and the one in force now must be met. */
function may(context: ApprovalsContext, { body }: ApprovalRow, { by, isOperator, choice }: Click): boolean {
  const rule = ruleNow(context, body);
  if (isOperator) return body.approvers.length > 0 && rule.approvers.length > 0;
  const requester = requesterOf(body);
  const person = { platform: requester.platform, by };
  const wanted = choice === "deny" ? "deny" : "approve";
  return fits(body, person, requester, wanted) && fits(rule, person, requester, wanted);
}

async function approve(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
  andThen?: (approved: ApprovalRow) => Promise<void>,
): Promise<AnswerReceipt> {
  const unrecorded = await recordAnswer(context, rows, answerOf(click));
  if (unrecorded !== undefined) return refused(unrecorded);
  const changed = await change(context, cardId, rows, async (row) => {
    const voted = await vote(context, row, click);
    if (voted?.state === "approved") await andThen?.(voted);
    return voted;
  });
  const approved = changed.filter((row) => row.state === "approved");
  if (approved.length > 0) return accepted(`Approved${countText(approved)}.`);
  const [counted] = changed;
  if (counted !== undefined)
    return accepted(cleaner(context.mask)(`Your approval counts. ${progressText(counted.body)}.`));
  const repeated = rows.find((row) => hasVoted(row, click));
  if (repeated === undefined) return refused(await lateText(context, rows));
  return refused(cleaner(context.mask)(`You have approved already; others must too. ${progressText(repeated.body)}.`));
}

function answerOf({ choice, by, isOperator }: Click): RecordedAnswer {
  return { choice: choice === "allow" || choice === "part" || choice === "deny" ? choice : "approve", by, isOperator };
}

function isAction(choice: AnswerChoice): choice is "diff" | "undo" | "again" {
  return choice === "diff" || choice === "undo" || choice === "again";
}

/** Looking at the diff is for everyone who sees the card; taking back is not. */
async function act(context: ApprovalsContext, row: ApprovalRow, click: Click): Promise<AnswerReceipt> {
  const { changes } = context;
  const { choice, by, isOperator } = click;
  if (changes === undefined || !choicesOf(row, context.mask).includes(choice))
    return refused(await lateText(context, [row]));
  if (choice === "diff") {
    const text = await changes.diff(row.body);
    if (text === undefined) return refused("There is no diff any more: the changes were kept or discarded.");
    return {
      ...accepted("The whole diff:"),
      file: { name: "changes.diff", text: escapeHiddenLines(context.mask(text)) },
    };
  }
  if (!mayTakeBack(row.body, by, isOperator)) return refused(strangerText(context, [row], click));
  return choice === "undo" ? await changes.undo(row.body, row.id, by) : await changes.runAgain(row.body, row.id, by);
}

/** Keeps the chosen files; the others are discarded with the draft. */
async function keepPart(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const [row] = rows;
  if (row === undefined || !choicesOf(row, context.mask).includes("part"))
    return refused("The files of this card can't be chosen one by one. Approve or deny it.");
  const paths = row.body.changes?.paths ?? [];
  const chosen = [...new Set(click.parts ?? [])].flatMap((index) => paths[index] ?? []);
  if (chosen.length === 0) return refused("No file was chosen, so nothing was changed. Deny discards all of them.");
  const keepsAll = chosen.length === paths.length;
  return await approve(context, cardId, [row], keepsAll ? click : { ...click, chosen });
}

/** One person's yes. The record as it was read is what they saw: it must still be that when the vote is written. */
async function vote(context: ApprovalsContext, row: ApprovalRow, click: Click): Promise<ApprovalRow | undefined> {
  const at = context.now();
  for (let seen: ApprovalRow | undefined = row; seen !== undefined; seen = await stillOpen(context, seen)) {
    if (hasVoted(seen, click) || isExpired(seen.body, at)) return undefined;
    const votes: ApprovalVote[] = [...seen.body.votes, { by: click.by, at, isOperator: click.isOperator }];
    const before = seen.body.votes.length;
    if (votes.length < seen.body.quorum) {
      const counted = await context.ledger.transition("approval", row.id, ["open"], "open", (body) =>
        body.votes.length === before ? { ...body, votes } : undefined,
      );
      if (counted !== undefined) return counted;
    } else {
      const approved = await settle(context, row, ["open"], "approved", (body) =>
        body.votes.length === before
          ? { ...withChosen(body, click), votes, decidedBy: click.by, decidedAt: at }
          : undefined,
      );
      if (approved !== undefined) return approved;
    }
  }
  return undefined;
}

function withChosen(body: ApprovalRecord, { chosen }: Click): ApprovalRecord {
  if (chosen === undefined || body.changes === undefined) return body;
  return { ...body, changes: { ...body.changes, chosen } };
}

async function stillOpen({ ledger }: ApprovalsContext, row: ApprovalRow): Promise<ApprovalRow | undefined> {
  const now = await ledger.get("approval", row.id);
  return now?.state === "open" ? now : undefined;
}

function hasVoted({ body }: ApprovalRow, { by, isOperator }: Click): boolean {
  return body.votes.some((earlier) => earlier.by.id === by.id && earlier.isOperator === isOperator);
}

async function deny(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const at = context.now();
  const reason = click.reason?.trim();
  // A no that can't be recorded is a no all the same.
  await recordAnswer(context, rows, answerOf(click));
  const changed = await change(context, cardId, rows, (row) =>
    settle(context, row, ["open"], "denied", (body) => ({
      ...body,
      decidedBy: click.by,
      decidedAt: at,
      ...(reason === undefined || reason === "" ? {} : { reason }),
    })),
  );
  return changed.length > 0 ? accepted(`Denied${countText(changed)}.`) : refused(await lateText(context, rows));
}

async function allow(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const isOffered = !click.isOperator && rows.every((row) => choicesOf(row, context.mask).includes("allow"));
  if (!isOffered) return refused("This can't be allowed in advance. Approve or deny it.");
  const receipt = await approve(context, cardId, rows, click, (row) => giveGrants(context, row, click.by));
  if (!receipt.accepted) return receipt;
  const duration = minutesText(context.grantMs);
  return accepted(`${receipt.text} The same rule asks nothing of you here for ${duration}; it can be revoked.`);
}

async function giveGrants(context: ApprovalsContext, { id, body }: ApprovalRow, by: Author): Promise<void> {
  const { turnId, cardId, conversationId, requester, target, matches, scope, call } = body;
  const place = { platform: target.platform, conversationId, by };
  const origin = { approvalId: id, cardId, turnId, userId: requester.id, scope, tool: call.name };
  for (const rule of grantableRules(matches) ?? []) {
    const grant = await context.grants.give(place, rule, context.now() + context.grantMs, origin);
    context.records.announce(granted(grant));
  }
}

async function edit(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  if (groupsOf(rows).length > 1) return refused("Several different calls are on this card: edit one of them.");
  if (!rows.every((row) => choicesOf(row, context.mask).includes("edit"))) {
    return refused("This call can't be edited here. Deny it, say what should be different, and ask again.");
  }
  const edited = await editRows(context, rows, click);
  if (edited.type === "refused") return refused(cleaner(context.mask)(edited.text));
  if (edited.type === "same") return await approve(context, cardId, rows, click);
  const { by, isOperator } = click;
  const answer: RecordedAnswer = { choice: "edit", by, isOperator, input: JSON.stringify(edited.input) };
  const unrecorded = await recordAnswer(context, rows, answer);
  if (unrecorded !== undefined) return refused(unrecorded);
  const changed = await change(context, cardId, rows, edited.settle);
  return changed.length > 0
    ? accepted("Edited and approved: the call runs as you wrote it.")
    : refused(await lateText(context, rows));
}

async function change(
  { notices }: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  step: (row: ApprovalRow) => Promise<ApprovalRow | undefined>,
): Promise<ApprovalRow[]> {
  return await notices.around(cardId, turnsOf(rows), true, async () => {
    const changed: ApprovalRow[] = [];
    for (const row of rows) {
      const now = await step(row);
      if (now !== undefined) changed.push(now);
    }
    return changed;
  });
}

function turnsOf(rows: ApprovalRow[]): string[] {
  return [...new Set(rows.map((row) => row.body.turnId))];
}

/** How it was settled before this click came. */
async function lateText(context: ApprovalsContext, rows: ApprovalRow[]): Promise<string> {
  const now = await Promise.all(rows.map((row) => context.ledger.get("approval", row.id)));
  const outcomes = new Set(now.flatMap((row) => (row === undefined ? [] : outcomeText(row))));
  return cleaner(context.mask)(`Nothing left to answer. ${[...outcomes].join("; ")}.`);
}

function strangerText(context: ApprovalsContext, rows: ApprovalRow[], click: Click): string {
  const texts = new Set(rows.map(({ body }) => approversText(body, body.requester.name)));
  const isAsker = rows.some(({ body }) => body.notRequester && body.requester.id === click.by.id);
  const why = isAsker ? "You asked for this, so somebody else must approve it." : "This is not yours to answer.";
  return cleaner(context.mask)(`${why} Who may: ${[...texts].join(" · ")}.`);
}

function countText(rows: ApprovalRow[]): string {
  return rows.length === 1 ? "" : `: ${rows.length} calls`;
}

function accepted(text: string): AnswerReceipt {
  return { accepted: true, text };
}

function refused(text: string): AnswerReceipt {
  return { accepted: false, text };
}
