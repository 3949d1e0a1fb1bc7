/** Cards about the same addition to a budget in several conversations. */
import type { ApprovalRecord, ApprovalVote } from "../ports/approval.ts";
import { recordAnswer } from "./audit.ts";
import type { ApprovalRow } from "./card.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, isExpired, settle } from "./context.ts";
import { turnIdsOf } from "./decide.ts";
import { hasVoted } from "./has-voted.ts";
import { mayAnswer } from "./may-answer.ts";

export async function openTwins(context: ApprovalsContext, hash: string): Promise<ApprovalRow[]> {
  const open = await context.ledger.list("approval", { states: ["open"] });
  return open.filter(
    ({ body }) => body.callHash === hash && body.budget !== undefined && !isExpired(body, context.now()),
  );
}

/** Repeating it changes nothing. */
export async function applyContinue(context: ApprovalsContext, { id, body }: ApprovalRow): Promise<void> {
  if (body.budget === undefined || context.budgets === undefined) return;
  await context.budgets.continued(body.budget, body.decidedBy?.name ?? "", body.decidedAt ?? context.now());
  await context.ledger.transition("approval", id, ["approved"], "consumed");
}

/**
 * Counts the answer on cards about the same addition in other conversations, too. Where it decides a card, the turn that
 * waits for that card goes on. A card stays open if its own rule does not accept this person, or needs more people.
 */
export async function answerElsewhere(context: ApprovalsContext, answered: ApprovalRow, click: Click): Promise<void> {
  const { callHash, cardId: ownCard, target, votes } = answered.body;
  const all = await openTwins(context, callHash);
  const twins = all.filter(({ body }) => body.cardId !== ownCard && body.target.platform === target.platform);
  const voters = click.choice === "deny" ? [{ ...click, at: context.now() }] : votes;
  const choice = click.choice === "deny" ? "deny" : "approve";
  for (const [cardId, ofCard] of Map.groupBy(twins, ({ body }) => body.cardId)) {
    const counting = ofCard.map((row) => ({
      row,
      counted: voters.filter((voter) => mayAnswer(context, row, { ...voter, choice })),
    }));
    for (const { row, counted } of counting)
      for (const { by, isOperator, platform } of counted) {
        const unrecorded = await recordAnswer(context, [row], {
          ...{ choice, by, isOperator },
          ...(platform === undefined ? {} : { platform }),
        });
        // As on the card itself, a denial takes effect even if recording it fails.
        if (unrecorded !== undefined && choice === "approve") return;
      }
    await context.notices.around(cardId, turnIdsOf(ofCard), true, async () => {
      const changed = await Promise.all(counting.map(({ row, counted }) => count(context, row, choice, counted)));
      const decided = changed.filter((row) => row !== undefined);
      for (const row of decided) if (row.state === "approved") await applyContinue(context, row);
      return decided;
    });
  }
}

async function count(
  context: ApprovalsContext,
  row: ApprovalRow,
  choice: "approve" | "deny",
  counted: readonly ApprovalVote[],
): Promise<ApprovalRow | undefined> {
  const last = counted.at(-1);
  if (last === undefined) return undefined;
  const decision = { decidedBy: last.by, decidedAt: last.at };
  if (choice === "deny") return await settle(context, row, ["open"], "denied", (body) => ({ ...body, ...decision }));
  const votesOf = (body: ApprovalRecord) => {
    const isNew = (vote: ApprovalVote) => !hasVoted({ body }, vote);
    return [
      ...body.votes,
      ...counted.filter(isNew).map(({ by, at, isOperator, platform }) => ({
        ...{ by, at, isOperator },
        ...(platform === undefined || platform === body.target.platform ? {} : { platform }),
      })),
    ];
  };
  const settled = await settle(context, row, ["open"], "approved", (body) => {
    const votes = votesOf(body);
    return votes.length < body.quorum ? undefined : { ...body, votes, ...decision };
  });
  if (settled !== undefined) return settled;
  return await context.ledger.transition("approval", row.id, ["open"], "open", (body) => {
    const votes = votesOf(body);
    return votes.length === body.votes.length ? undefined : { ...body, votes };
  });
}
