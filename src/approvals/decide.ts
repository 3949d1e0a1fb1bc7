/** Decides the open rows that a person may answer. Of simultaneous clicks, compare-and-set lets only one win. */
import type { ApprovalRecord, ApprovalVote } from "../ports/approval.ts";
import type { AnswerReceipt, Author } from "../ports/message.ts";
import { accepted, alreadySettledText, refused } from "./answer-text.ts";
import { type RecordedAnswer, recordAnswer } from "./audit.ts";
import { type ApprovalRow, groupIdentical, progressText, rowChoices } from "./card.ts";
import { cleaner } from "./card-text.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, isExpired, settle } from "./context.ts";
import { editRows } from "./edit.ts";
import { grantableRules } from "./grants.ts";
import { hasVoted } from "./has-voted.ts";
import { granted } from "./record.ts";
import { minutesText } from "./why.ts";

export async function approve(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
  andThen?: (approved: ApprovalRow) => Promise<void>,
): Promise<AnswerReceipt> {
  const unrecorded = await recordAnswer(context, rows, auditAnswer(click));
  if (unrecorded !== undefined) return refused(unrecorded);
  const changed = await changeRows(context, cardId, rows, async (row) => {
    const voted = await vote(context, row, click);
    if (voted?.state === "approved") await andThen?.(voted);
    return voted;
  });
  const approved = changed.filter((row) => row.state === "approved");
  if (approved.length > 0) return accepted(`Approved${countText(approved)}.`);
  const [counted] = changed;
  const clean = cleaner(context.mask);
  if (counted !== undefined) return accepted(clean(`Your approval counts. ${progressText(counted.body)}`));
  const repeated = rows.find((row) => hasVoted(row, click));
  if (repeated === undefined) return refused(await alreadySettledText(context, rows));
  return refused(clean(`You have already approved. Others must approve too. ${progressText(repeated.body)}.`));
}

function auditAnswer({ choice, by, isOperator, platform }: Click): RecordedAnswer {
  const known = choice === "allow" || choice === "part" || choice === "deny" ? choice : "approve";
  return { choice: known, by, isOperator, ...(platform === undefined ? {} : { platform }) };
}

export async function keepChosenFiles(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const [row] = rows;
  if (row === undefined || !rowChoices(row, context.mask).includes("part"))
    return refused("You can't choose single files on this card. Approve or deny all of them.");
  const paths = row.body.changes?.paths ?? [];
  const chosen = [...new Set(click.parts ?? [])].flatMap((index) => paths[index] ?? []);
  if (chosen.length === 0) return refused("You chose no file, so nothing was changed. Deny discards all of them.");
  const keepsAll = chosen.length === paths.length;
  return await approve(context, cardId, [row], keepsAll ? click : { ...click, chosen });
}

/** An approval counts only for the version of the record that the person saw. */
async function vote(context: ApprovalsContext, row: ApprovalRow, click: Click): Promise<ApprovalRow | undefined> {
  const at = context.now();
  for (let seen: ApprovalRow | undefined = row; seen !== undefined; seen = await stillOpen(context, seen)) {
    if (hasVoted(seen, click) || isExpired(seen.body, at)) return undefined;
    const votes: ApprovalVote[] = [...seen.body.votes, voteOf(seen, click, at)];
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

function voteOf({ body }: ApprovalRow, { by, isOperator, platform, isFromOutside }: Click, at: number): ApprovalVote {
  const isElsewhere = platform !== undefined && platform !== body.target.platform;
  return { by, at, isOperator, ...(isElsewhere ? { platform } : {}), ...(isFromOutside ? { isFromOutside } : {}) };
}

export async function deny(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const at = context.now();
  const reason = click.reason?.trim();
  // A denial takes effect even if recording it fails.
  await recordAnswer(context, rows, auditAnswer(click));
  const changed = await changeRows(context, cardId, rows, (row) =>
    settle(context, row, ["open"], "denied", (body) => ({
      ...body,
      decidedBy: click.by,
      decidedAt: at,
      ...(reason === undefined || reason === "" ? {} : { reason }),
    })),
  );
  if (changed.length > 0) return accepted(`Denied${countText(changed)}.`);
  return refused(await alreadySettledText(context, rows));
}

export async function allow(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const isOffered = !click.isOperator && rows.every((row) => rowChoices(row, context.mask).includes("allow"));
  if (!isOffered) return refused("This can't be allowed in advance. Approve or deny it.");
  const receipt = await approve(context, cardId, rows, click, (row) => giveGrants(context, row, click.by));
  if (!receipt.accepted) return receipt;
  const duration = minutesText(context.grantMs);
  const isAboutChanges = rows.every(({ body }) => body.changes !== undefined);
  const what = isAboutChanges ? "Such changes to plain code and text files" : "The same rule";
  return accepted(`${receipt.text} ${what} won't ask again here for ${duration}. /remora grants can revoke this.`);
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

export async function edit(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  if (groupIdentical(rows).length > 1) return refused("This card has several different calls. Edit one at a time.");
  if (!rows.every((row) => rowChoices(row, context.mask).includes("edit"))) {
    return refused("This call can't be edited here. Deny it, and say what should be different.");
  }
  const edited = await editRows(context, rows, click);
  if (edited.type === "refused") return refused(cleaner(context.mask)(edited.text));
  if (edited.type === "same") return await approve(context, cardId, rows, click);
  const { by, isOperator } = click;
  const answer: RecordedAnswer = { choice: "edit", by, isOperator, input: JSON.stringify(edited.input) };
  const unrecorded = await recordAnswer(context, rows, answer);
  if (unrecorded !== undefined) return refused(unrecorded);
  const changed = await changeRows(context, cardId, rows, edited.settle);
  if (changed.length > 0) return accepted("Edited and approved. The call runs as you wrote it.");
  return refused(await alreadySettledText(context, rows));
}

async function changeRows(
  { notices }: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  step: (row: ApprovalRow) => Promise<ApprovalRow | undefined>,
): Promise<ApprovalRow[]> {
  return await notices.around(cardId, turnIdsOf(rows), true, async () => {
    const changed: ApprovalRow[] = [];
    for (const row of rows) {
      const now = await step(row);
      if (now !== undefined) changed.push(now);
    }
    return changed;
  });
}

export function turnIdsOf(rows: ApprovalRow[]): string[] {
  return [...new Set(rows.map((row) => row.body.turnId))];
}

function countText(rows: ApprovalRow[]): string {
  return rows.length === 1 ? "" : `: ${rows.length} calls`;
}
