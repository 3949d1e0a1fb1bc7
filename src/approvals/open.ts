/**
 * Opening approvals for the calls of one step:
 *
 *   1. calls that were already asked for in this turn keep their records, so that asking again after a crash changes nothing
 *   2. what nobody may approve is denied, and what a grant covers is approved, without asking
 *   3. the rest share one card: that of identical open calls in the conversation, or a new one
 *   4. more open cards than the limit: denied, with a note for the model
 */

import { RemoraError } from "../lib/errors.ts";
import type { ApprovalCard, ApprovalRecord, ApprovalRequest, ApprovalState, GrantRecord } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";
import { recordAnswer } from "./audit.ts";
import {
  type AnswerRule,
  expiryMsOf,
  hasSameAnswerers,
  impossibilityOf,
  type Requester,
  ruleFor,
} from "./authority.ts";
import { type ApprovalRow, hidesSecrets } from "./card.ts";
import { type ApprovalsContext, announce, cardsOf, hashOfCall, isExpired } from "./context.ts";
import { createApprovalId } from "./hash.ts";

const defaultMaxOpenCards = 5;

interface Wanted {
  asked: ApprovalRequest["calls"][number];
  hash: string;
  rule: AnswerRule;
  isMasked: boolean;
  impossibility: string | undefined;
  grants: GrantRecord[] | undefined;
}

export async function openApprovals(
  context: ApprovalsContext,
  request: ApprovalRequest,
): Promise<{ card: ApprovalCard; approvalIds: string[] }> {
  const known = await context.ledger.list("approval", { group: request.turnId });
  const rows = request.calls.map(({ call }) => known.find((row) => row.body.call.id === call.id));
  const missing = request.calls.filter((_call, index) => rows[index] === undefined);
  const begun = rows.find((row) => row !== undefined)?.body.cardId;
  const made = missing.length === 0 ? [] : await openMissing(context, request, missing, begun);
  const approvalIds = rows.map((row) => row?.id ?? made.shift()?.id ?? "");
  const cardId = begun ?? (await cardIdOf(context, approvalIds[0] ?? ""));
  const card = (await cardsOf(context, cardId)).find(({ target }) => target.turnId === request.turnId);
  if (card === undefined) {
    const message = "an approval card is gone right after it was made. Check the ledger, and ask again.";
    throw new RemoraError({ code: "approvals.no-card", place: `turn ${request.turnId}`, message });
  }
  return { card, approvalIds };
}

async function cardIdOf(context: ApprovalsContext, approvalId: string): Promise<string> {
  return (await context.ledger.get("approval", approvalId))?.body.cardId ?? "";
}

async function openMissing(
  context: ApprovalsContext,
  request: ApprovalRequest,
  calls: ApprovalRequest["calls"],
  begunCardId: string | undefined,
): Promise<ApprovalRow[]> {
  const wanted = await Promise.all(calls.map((asked) => look(context, request, asked)));
  const open = await openHere(context, request);
  const shared = begunCardId ?? sharedCard(request, wanted, open);
  const cardId = shared ?? createApprovalId();
  const isFull = shared === undefined && new Set(open.map((row) => row.body.cardId)).size >= maxOpenCards(context);
  await keepCard(context, request, cardId);
  const makeAll = async () => {
    const made: ApprovalRow[] = [];
    for (const one of wanted) made.push(await create(context, recordOf(context, request, one, cardId), one, isFull));
    return made;
  };
  // Whoever has the card before them already must see that their click answers for more calls from now on.
  return shared === undefined
    ? await context.notices.quietly(cardId, makeAll)
    : await context.notices.around(cardId, [], false, makeAll);
}

async function look(
  context: ApprovalsContext,
  request: ApprovalRequest,
  asked: ApprovalRequest["calls"][number],
): Promise<Wanted> {
  const { target, workingFolder } = request;
  const { platform, conversationId } = target;
  const requester = requesterIn(request);
  const isMasked = hidesSecrets(asked, context.mask);
  const rule = ruleFor(context.policy, asked.call.name, isMasked);
  const impossibility = impossibilityOf(rule);
  const { matches } = asked;
  // What was agreed to in advance was agreed to without knowing of the secret, or of what was read.
  const grants =
    isMasked || asked.isTainted === true
      ? undefined
      : await context.grants.covering({ platform, conversationId, matches, requester, rule });
  return { asked, hash: hashOfCall(context, asked.call, workingFolder), rule, isMasked, impossibility, grants };
}

function requesterIn({ target, requester: by, alsoAsked = [] }: ApprovalRequest): Requester {
  return { platform: target.platform, by, alsoAsked };
}

async function openHere(context: ApprovalsContext, { target }: ApprovalRequest): Promise<ApprovalRow[]> {
  const open = await context.ledger.list("approval", { states: ["open"] });
  return open.filter(
    ({ body }) =>
      body.conversationId === target.conversationId &&
      body.target.platform === target.platform &&
      !isExpired(body, context.now()),
  );
}

/** A card can be shared only when it has a row for every call: a reply shows one card a step. */
function sharedCard(request: ApprovalRequest, wanted: Wanted[], open: ApprovalRow[]): string | undefined {
  const requester = requesterIn(request);
  const isTwin = ({ body }: ApprovalRow, { asked, hash, rule }: Wanted) =>
    body.callHash === hash &&
    body.votes.length === 0 &&
    hasSameFacts(body, asked) &&
    hasSameAnswerers(body, rule, requester);
  const cardIds = new Set(open.map((row) => row.body.cardId));
  for (const cardId of cardIds) {
    const rows = open.filter((row) => row.body.cardId === cardId);
    if (wanted.every((one) => rows.some((row) => isTwin(row, one)))) return cardId;
  }
  return undefined;
}

/** A row shows the facts of one record: others with other facts would be decided unseen. */
function hasSameFacts(one: Pick<ApprovalRecord, "facts">, other: Pick<ApprovalRecord, "facts">): boolean {
  return JSON.stringify(one.facts ?? []) === JSON.stringify(other.facts ?? []);
}

function maxOpenCards({ policy }: ApprovalsContext): number {
  return policy.maxOpenCards ?? defaultMaxOpenCards;
}

async function keepCard(context: ApprovalsContext, { target, turnId }: ApprovalRequest, cardId: string): Promise<void> {
  const { platform, conversationId } = target;
  const body = { platform, conversationId, turnIds: [turnId], messages: [] };
  if (await context.ledger.create("card", cardId, { state: "made", body, group: conversationId })) return;
  await context.ledger.transition("card", cardId, ["made"], "made", (card) => ({
    ...card,
    turnIds: [...new Set([...card.turnIds, turnId])],
  }));
}

function recordOf(
  context: ApprovalsContext,
  { turnId, target, scope, requester, alsoAsked = [], workingFolder }: ApprovalRequest,
  { asked, hash, rule, isMasked }: Wanted,
  cardId: string,
): ApprovalRecord {
  const createdAt = context.now();
  const expiryMs = expiryMsOf(context.policy);
  return {
    id: createApprovalId(),
    cardId,
    turnId,
    conversationId: target.conversationId,
    scope,
    target,
    requester,
    alsoAsked,
    call: asked.call,
    callHash: hash,
    requestedHash: hash,
    workingFolder,
    matches: asked.matches,
    extraTags: asked.extraTags ?? [],
    ...(asked.isTainted === true ? { isTainted: true } : {}),
    ...(asked.facts === undefined || asked.facts.length === 0 ? {} : { facts: asked.facts }),
    ...(isMasked ? { isMasked } : {}),
    ...rule,
    votes: [],
    grantIds: [],
    createdAt,
    expiresAt: expiryMs === null ? null : createdAt + expiryMs,
  };
}

async function create(
  context: ApprovalsContext,
  record: ApprovalRecord,
  { impossibility, grants }: Wanted,
  isFull: boolean,
): Promise<ApprovalRow> {
  if (impossibility !== undefined) return await keep(context, "denied", { ...record, reason: impossibility });
  const giver = grants?.[0];
  if (grants !== undefined && giver !== undefined) {
    const { createdAt: at } = record;
    const votes = [{ by: giver.by, at, isOperator: false }];
    const grantIds = grants.map((grant) => grant.id);
    const approved = { ...record, votes, grantIds, decidedBy: giver.by, decidedAt: at };
    // Where a grant can't be recorded, people are asked.
    if (await isGrantRecorded(context, approved, giver.by)) return await keep(context, "approved", approved);
  }
  if (!isFull) return await keep(context, "open", record);
  const reason = `${maxOpenCards(context)} approval cards are open in this conversation already: they must be answered first.`;
  return await keep(context, "denied", { ...record, reason });
}

async function isGrantRecorded(context: ApprovalsContext, body: ApprovalRecord, by: Author): Promise<boolean> {
  const row = { body };
  return (await recordAnswer(context, [row], { choice: "grant", by, isOperator: false })) === undefined;
}

async function keep(context: ApprovalsContext, state: ApprovalState, body: ApprovalRecord): Promise<ApprovalRow> {
  await context.ledger.create("approval", body.id, { state, body, group: body.turnId });
  const row = await context.ledger.get("approval", body.id);
  if (row === undefined) throw new TypeError(`approval ${body.id} was written and is not there`);
  announce(context, row);
  return row;
}
