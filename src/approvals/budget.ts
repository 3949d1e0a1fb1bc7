/**
 * Asks people to add to a budget in dollars, by the same rules as for calls: records, cards, authority, audit, and the
 * first answer wins. All turns that meet the budget share its card in a conversation, and an answer in one conversation
 * also counts in the others, as far as their own rules allow it to the same people. An addition counts once, however
 * often it is applied.
 */
import { hash } from "node:crypto";
import { formatDollars } from "../lib/text/format-usage.mjs";
import type { ApprovalRecord, BudgetRequest, OpenedBudget } from "../ports/approval.ts";
import type { AnswerReceipt, JsonObject } from "../ports/message.ts";
import { budgetTool } from "../ports/tool-offer.ts";
import type { BudgetAsk } from "../ports/usage.ts";
import { accepted } from "./answer-text.ts";
import { type AnswerRule, budgetRule, expiryMsOf, impossibilityOf } from "./authority.ts";
import { answerElsewhere, applyContinue, openTwins } from "./budget-twins.ts";
import type { ApprovalRow } from "./card.ts";
import type { Click } from "./click.ts";
import { type ApprovalsContext, cardOfTurn, changeRow, endRow, expireDue, isExpired, saveRecord } from "./context.ts";
import { approve, deny } from "./decide.ts";
import { createApprovalId } from "./hash.ts";
import { saveCard } from "./save-card.ts";

export async function openBudget(context: ApprovalsContext, request: BudgetRequest): Promise<OpenedBudget> {
  const { turnId, ask, isBlocking } = request;
  const ofTurn = await context.ledger.list("approval", { group: turnId });
  const known = ofTurn.findLast(({ body }) => isAbout(body, ask));
  if (known !== undefined && !isOutdated(context, known, isBlocking))
    return await openedAgain(context, known, isBlocking);
  const rule = budgetRule(context.policy);
  if (impossibilityOf(rule) !== undefined) return { type: "closed", state: "impossible" };
  const row = await create(context, request, rule);
  return await opened(context, row);
}

/** A card from before the budget was used up may have expired while nobody waited for it. */
function isOutdated(context: ApprovalsContext, { state, body }: ApprovalRow, isBlocking: boolean): boolean {
  const wasWaitedFor = body.budget?.isBlocking === true;
  const isOver = state === "expired" || state === "cancelled" || (state === "open" && isExpired(body, context.now()));
  return isBlocking && !wasWaitedFor && isOver;
}

function isAbout({ budget }: ApprovalRecord, { id, addition }: BudgetAsk): boolean {
  return budget?.id === id && budget.addition === addition;
}

async function openedAgain(context: ApprovalsContext, row: ApprovalRow, isBlocking: boolean): Promise<OpenedBudget> {
  if (row.state === "open" && isExpired(row.body, context.now())) {
    const { cardId, turnId } = row.body;
    await context.notices.around(cardId, [turnId], false, () => expireDue(context, [row], context.now()));
    return { type: "closed", state: "expired" };
  }
  if (row.state === "open" && isBlocking && row.body.budget?.isBlocking === false) {
    const blocking = await context.ledger.transition("approval", row.id, ["open"], "open", (body) =>
      body.budget === undefined ? undefined : { ...body, budget: { ...body.budget, isBlocking } },
    );
    if (blocking !== undefined) return await opened(context, blocking);
  }
  const now = (await context.ledger.get("approval", row.id)) ?? row;
  const { budget, decidedBy } = now.body;
  if (now.state === "approved") await applyContinue(context, now);
  if (now.state === "denied" && budget !== undefined && decidedBy !== undefined)
    await context.budgets?.declined(budget, decidedBy.name);
  return await opened(context, now);
}

async function opened(context: ApprovalsContext, { state, body }: ApprovalRow): Promise<OpenedBudget> {
  const by = body.decidedBy?.name;
  const who = by === undefined ? {} : { by };
  switch (state) {
    case "open": {
      return { type: "open", card: await cardOfTurn(context, body.cardId, body.turnId) };
    }
    case "approved":
    case "consumed":
      return { type: "closed", state: "continued", ...who };
    case "denied":
      return { type: "closed", state: by === undefined ? "impossible" : "declined", ...who };
    case "expired":
    case "cancelled":
      return { type: "closed", state };
    default:
      return state satisfies never;
  }
}

async function create(context: ApprovalsContext, request: BudgetRequest, rule: AnswerRule): Promise<ApprovalRow> {
  const { turnId, target, scope, requester, workingFolder, ask, isBlocking } = request;
  const at = context.now();
  const callHash = hashOfAsk(ask);
  const open = await openTwins(context, callHash);
  const shared = open.find(
    ({ body }) => body.conversationId === target.conversationId && body.target.platform === target.platform,
  );
  const cardId = shared?.body.cardId ?? createApprovalId();
  await saveCard(context, request, cardId);
  const expiryMs = expiryMsOf(context.policy);
  const expiries = [...(expiryMs === null ? [] : [at + expiryMs]), ...(ask.endsAt === null ? [] : [ask.endsAt])];
  const record: ApprovalRecord = {
    ...{ id: createApprovalId(), cardId, turnId, conversationId: target.conversationId, scope, target, requester },
    call: { id: `budget:${ask.id}:${ask.addition}`, name: budgetTool, input: shownInput(ask) },
    ...{ callHash, requestedHash: callHash, workingFolder, matches: [], extraTags: [], ...rule },
    ...{ votes: [], grantIds: [], createdAt: at, budget: { ...ask, isBlocking } },
    expiresAt: expiries.length === 0 ? null : Math.min(...expiries),
  };
  const save = async () => [await saveRecord(context, "open", record)];
  const [row] =
    shared === undefined
      ? await context.notices.quietly(cardId, save)
      : await context.notices.around(cardId, [], false, save);
  if (row === undefined) throw new TypeError(`approval ${record.id} was not created`);
  return row;
}

/** Neither the amount used nor the turn is part of the hash, so all turns that meet the budget share one card. */
function hashOfAsk({ id, addition }: BudgetAsk): string {
  return hash("sha256", JSON.stringify([budgetTool, id, addition]));
}

function shownInput({ kind, used, limit, step }: BudgetAsk): JsonObject {
  return { budget: kind, used: formatDollars(used), limit: formatDollars(limit), adds: formatDollars(step) };
}

/** `rows` are open, and the person may answer them. */
export async function answerBudget(
  context: ApprovalsContext,
  cardId: string,
  rows: ApprovalRow[],
  click: Click,
): Promise<AnswerReceipt> {
  const ask = rows[0]?.body.budget;
  const isContinue = click.choice !== "deny";
  const receipt = isContinue
    ? await approve(context, cardId, rows, click, (row) => applyContinue(context, row))
    : await deny(context, cardId, rows, click);
  if (!receipt.accepted || ask === undefined) return receipt;
  const decided = await Promise.all(rows.map(({ id }) => context.ledger.get("approval", id)));
  // A vote that counts but does not decide leaves the rows open.
  if (decided.some((row) => row?.state === "open")) return receipt;
  if (!isContinue) await context.budgets?.declined(ask, click.by.name);
  const settled = decided.find((row) => row !== undefined);
  if (settled !== undefined) await answerElsewhere(context, settled, click);
  return accepted(
    isContinue
      ? `Added ${formatDollars(ask.step)}. The budget is now ${formatDollars(ask.limit + ask.step)}.`
      : `Noted. The budget stays at ${formatDollars(ask.limit)}.`,
  );
}

/** Closes the cards about the turn's own budget, because the turn has ended. */
export async function closeBudgets(context: ApprovalsContext, turnId: string): Promise<void> {
  const rows = await context.ledger.list("approval", { states: ["open"], group: turnId });
  const own = rows.filter(({ body }) => body.budget?.endsAt === null);
  for (const row of own)
    await changeRow(context, row, () => endRow(context, row, ["open"], "cancelled", "the request has ended"));
}
