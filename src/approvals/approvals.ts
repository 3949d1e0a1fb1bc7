/**
 * Approvals are records in the ledger. Each is settled once and redeemed once, right before its call runs. Nothing
 * depends on memory or timers, so several processes can share one ledger, and a restart changes nothing.
 */
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { ApprovalDesk, ApprovalRecord } from "../ports/approval.ts";
import { answerCard } from "./answer.ts";
import { answerAs, createAnswerable } from "./answer-as.ts";
import { expiryMsOf } from "./authority.ts";
import { closeBudgets, openBudget } from "./budget.ts";
import { applyContinue } from "./budget-twins.ts";
import type { ApprovalRow } from "./card.ts";
import { wholeText } from "./change-action.ts";
import { finishChanges, mayTakeBack, openChanges, redeemChanges, replaceChanges } from "./changes.ts";
import {
  type ApprovalsContext,
  type ApprovalsOptions,
  cardOfTurn,
  cardRows,
  cardsOf,
  endRow,
  expireDue,
  hashOfCall,
  isExpired,
  recordCard,
} from "./context.ts";
import { createDecisionOutbox } from "./decision-outbox.ts";
import { endGrant } from "./end-grant.ts";
import { createGrants } from "./grants.ts";
import { mayStillAnswer } from "./may-answer.ts";
import { createNotifier, isCopyTurn } from "./notify/notifier.ts";
import { planNotify } from "./notify/plan.ts";
import { openApprovals } from "./open.ts";
import { createDecisionRecords } from "./record.ts";
import { redeemApproval } from "./redeem.ts";

const defaultGrantMs = 30 * 60 * 1000;
/** Settled records are kept this long for audit. */
const maxKeptMs = 30 * 24 * 60 * 60 * 1000;
const pruneEveryMs = 60 * 60 * 1000;

const operator: ApprovalRecord["requester"] = { id: "operator", name: "the operator", isBot: false, roles: [] };

export function createApprovals(options: ApprovalsOptions): ApprovalDesk {
  const { ledger, events, log, onSettled, wake, remember, now = Date.now } = options;
  const grants = createGrants(ledger, now);
  const records = createDecisionRecords({ ledger, events, remember });
  const cards = (cardId: string) => cardsOf(context, cardId);
  const record = (cardId: string) => recordCard(context, cardId);
  const settled = (cardId: string) => notifier.settled(cardId);
  const notices = createDecisionOutbox({ ledger, log, onSettled, settled, wake, cards, record });
  const context: ApprovalsContext = {
    ...{ ...options, now, grants, notices, records, serial: createKeyedMutex() },
    get grantMs() {
      return options.policy.grantMs ?? defaultGrantMs;
    },
    tellPeople: (cardId) => notifier.start(cardId),
  };
  const notifier = createNotifier(context);
  let nextPruneAt = 0;

  async function settleAll(
    rows: ApprovalRow[],
    wakes: boolean,
    work: (rows: ApprovalRow[]) => Promise<ApprovalRow[]>,
  ): Promise<void> {
    const byCard = Map.groupBy(rows, (row) => row.body.cardId);
    for (const [cardId, ofCard] of byCard) {
      const turnIds = [...new Set(ofCard.map((row) => row.body.turnId))];
      await notices.around(cardId, turnIds, wakes, () => work(ofCard));
    }
  }

  async function cancelRows(rows: ApprovalRow[], reason: string): Promise<ApprovalRow[]> {
    const cancelled = await Promise.all(
      rows.map((row) => endRow(context, row, ["open", "approved"], "cancelled", reason)),
    );
    return cancelled.filter((row) => row !== undefined);
  }

  /** Its grant is over, so nobody can end it any more. */
  async function showAgain(cardId: string): Promise<void> {
    await notices.around(cardId, [], false, async () => (await cardRows(ledger, cardId))?.rows ?? []);
  }

  async function prune(at: number): Promise<void> {
    if (at < nextPruneAt) return;
    nextPruneAt = at + pruneEveryMs;
    const before = at - maxKeptMs;
    await ledger.prune("approval", ["consumed", "denied", "expired", "cancelled"], before);
    await ledger.prune("grant", ["revoked", "expired"], before);
    await ledger.prune("decision", ["recorded"], before - pruneEveryMs);
    await ledger.prune("notice", ["told"], at - pruneEveryMs);
    // Keep cards until all their approvals have expired. If approvals never expire, keep all cards: some may be open.
    const expiryMs = expiryMsOf(options.policy);
    if (expiryMs !== null) await ledger.prune("card", ["made"], before - expiryMs);
  }

  return {
    async open(request) {
      const inOrder = () => openApprovals(context, request);
      const opened = await context.serial(`open ${request.target.conversationId}`, inOrder);
      await planNotify(context, opened.card.id);
      return { ...opened, card: await cardOfTurn(context, opened.card.id, request.turnId) };
    },
    answer: ({ platform, conversationId, messageId, cardOrApprovalId: id, ...answer }) =>
      answerCard(context, { ...answer, id, isOperator: false, from: { platform, conversationId, messageId } }),
    decide: ({ cardOrApprovalId: id, ...decision }) =>
      answerCard(context, { ...decision, id, by: operator, isOperator: true }),
    decideAs: (person, decision) => answerAs(context, person, decision),
    answerable: createAnswerable(context),
    redeem: (approvalId, call, workingFolder) => redeemApproval(context, approvalId, call, workingFolder),
    hashOf: (call, workingFolder) => hashOfCall(context, call, workingFolder),
    async openChanges(request) {
      const inOrder = () => openChanges(context, request);
      const opened = await context.serial(`open ${request.target.conversationId}`, inOrder);
      await planNotify(context, opened.card.id);
      const state = (await ledger.get("approval", opened.approvalId))?.state;
      const isRefused = opened.state === "open" && state === "denied";
      return {
        ...opened,
        card: await cardOfTurn(context, opened.card.id, request.turnId),
        ...(isRefused ? { state } : {}),
      };
    },
    redeemChanges: (approvalId) => redeemChanges(context, approvalId),
    finishChanges: (approvalId, outcome) => finishChanges(context, approvalId, outcome),
    async mayTakeBack(approvalId, by) {
      const row = await ledger.get("approval", approvalId);
      return row !== undefined && mayTakeBack(context, row.body, by, false);
    },
    async mayAnswer(cardId, platform, by) {
      const found = await cardRows(ledger, cardId);
      return found?.card.platform === platform && found.rows.some((row) => mayStillAnswer(context, row, by));
    },
    async openBudget(request) {
      const inOrder = () => context.serial(`budget ${request.ask.id}`, () => openBudget(context, request));
      const opened = await inOrder();
      if (opened.type === "closed") return opened;
      await planNotify(context, opened.card.id);
      // Nobody may be left who can answer.
      return await inOrder();
    },
    closeBudgets: (turnId) => closeBudgets(context, turnId),
    replaceChanges: (approvalId, reason) => replaceChanges(context, approvalId, reason),
    async card(cardId, turnId) {
      const found = await cardsOf(context, cardId);
      return found.find(({ target }) => target.turnId === turnId) ?? found[0];
    },
    askElsewhere: notifier.elsewhere,
    async posted(cardId, turnId, messageId) {
      await ledger.transition("card", cardId, ["made"], "made", (card) => {
        const others = card.messages.filter((message) => message.turnId !== turnId || message.messageId !== messageId);
        return { ...card, messages: [...others, { turnId, messageId }] };
      });
      if (!isCopyTurn(turnId)) notifier.start(cardId);
    },
    async cancel(turnId, reason = "The turn was stopped.") {
      const rows = await ledger.list("approval", { states: ["open", "approved"], group: turnId });
      const own = rows.filter(({ body }) => body.budget === undefined || body.budget.endsAt === null);
      await settleAll(own, false, (ofCard) => cancelRows(ofCard, reason));
    },
    async sweep(at) {
      for (const row of await ledger.list("approval", { states: ["approved"] })) await applyContinue(context, row);
      const due = await ledger.list("approval", { dueBefore: at + 1 });
      await settleAll(due, true, (ofCard) => expireDue(context, ofCard, at));
      await notifier.sweep(at);
      for (const { origin } of await grants.sweep(at)) await showAgain(origin.cardId);
      await notices.sweep(at);
      await prune(at);
    },
    async listOpen(conversationId) {
      const open = (await ledger.list("approval", { states: ["open"] })).filter(
        ({ body }) => (conversationId ?? body.conversationId) === body.conversationId && !isExpired(body, now()),
      );
      const cardIds = [...new Set(open.map((row) => row.body.cardId))];
      const cards = await Promise.all(cardIds.map((cardId) => cardsOf(context, cardId)));
      return cards.flatMap(([card]) => card ?? []);
    },
    async diffOf(id) {
      const row = (await ledger.get("approval", id)) ?? (await cardRows(ledger, id))?.rows[0];
      if (row?.body.changes === undefined) return undefined;
      const whole = await wholeText(context, row);
      if (whole.type === "gone") return row.state === "open" ? whole.why : undefined;
      return row.body.changes.unseen === undefined ? whole.text : `${whole.title}\n\n${whole.text}`;
    },
    listGrants: grants.list,
    revokeGrant: (grantId, conversationId, by = operator) => endGrant(context, grantId, by, conversationId),
    async whenIdle() {
      await notifier.whenIdle();
      await notices.whenIdle();
    },
  };
}
