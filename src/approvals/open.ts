/**
 * Opens approvals for the calls of one step. Reuses the records that this turn already has so that a crash changes
 * nothing. Denies calls that nobody may approve or that exceed the limit of open cards, and approves calls that a grant
 * covers. Puts the others on one card: an existing one with identical open calls in the conversation, or a new one.
 */
import { namesText } from "../lib/text/names-text.ts";
import type { ApprovalRecord, ApprovalRequest, GrantRecord } from "../ports/approval.ts";
import type { BoundFiles } from "../ports/bound-files.ts";
import type { ApprovalCard } from "../ports/card.ts";
import { grantedRecord } from "./audit.ts";
import {
  type AnswerRule,
  expiryMsOf,
  hasSameAnswerers,
  impossibilityOf,
  type Requester,
  ruleFor,
} from "./authority.ts";
import { type ApprovalRow, hidesSecrets } from "./card.ts";
import { type ApprovalsContext, cardOfTurn, hashOfCall, isExpired, saveRecord } from "./context.ts";
import { createApprovalId } from "./hash.ts";
import { saveCard } from "./save-card.ts";

const defaultMaxOpenCards = 5;

interface PendingCall {
  asked: ApprovalRequest["calls"][number];
  hash: string;
  rule: AnswerRule;
  isMasked: boolean;
  impossibility: string | undefined;
  grants: GrantRecord[] | undefined;
  bound: BoundFiles | undefined;
  difference: string | undefined;
}

export async function openApprovals(
  context: ApprovalsContext,
  request: ApprovalRequest,
): Promise<{ card: ApprovalCard; approvalIds: string[] }> {
  const known = await context.ledger.list("approval", { group: request.turnId });
  const rows = request.calls.map(({ call, round }) =>
    known.find((row) => row.body.call.id === call.id && row.body.round === round),
  );
  const missing = request.calls.filter((_call, index) => rows[index] === undefined);
  const existingCardId = rows.find((row) => row !== undefined)?.body.cardId;
  const opened = missing.length === 0 ? [] : await openMissing(context, request, missing, existingCardId);
  const approvalIds = rows.map((row) => row?.id ?? opened.shift()?.id ?? "");
  const cardId = existingCardId ?? (await cardIdFor(context, approvalIds[0] ?? ""));
  return { card: await cardOfTurn(context, cardId, request.turnId), approvalIds };
}

async function cardIdFor(context: ApprovalsContext, approvalId: string): Promise<string> {
  return (await context.ledger.get("approval", approvalId))?.body.cardId ?? "";
}

async function openMissing(
  context: ApprovalsContext,
  request: ApprovalRequest,
  calls: ApprovalRequest["calls"],
  existingCardId: string | undefined,
): Promise<ApprovalRow[]> {
  const pending = await Promise.all(calls.map((asked) => examine(context, request, asked)));
  const open = await openRowsHere(context, request);
  const shared = existingCardId ?? sharedCard(request, pending, open);
  const cardId = shared ?? createApprovalId();
  const isFull = shared === undefined && new Set(open.map((row) => row.body.cardId)).size >= maxOpenCards(context);
  await saveCard(context, request, cardId);
  const createAll = async () => {
    const created: ApprovalRow[] = [];
    for (const call of pending)
      created.push(await create(context, callRecord(context, request, call, cardId), call, isFull));
    return created;
  };
  // Update a shared card, because a click on it now answers for these calls too.
  return shared === undefined
    ? await context.notices.quietly(cardId, createAll)
    : await context.notices.around(cardId, [], false, createAll);
}

async function examine(
  context: ApprovalsContext,
  request: ApprovalRequest,
  asked: ApprovalRequest["calls"][number],
): Promise<PendingCall> {
  const { target, workingFolder } = request;
  const { platform, conversationId } = target;
  const { matches, call } = asked;
  const requester = requesterIn(request);
  const isSecret = hidesSecrets(asked, context.mask);
  // Grants don't apply: their giver did not know about the secret or about the text from others.
  const grants =
    isSecret || asked.isTainted === true
      ? undefined
      : await context.grants.covering({
          ...{ platform, conversationId, matches, requester },
          rule: ruleFor(context.policy, call.name),
        });
  // Nothing is shown of a call that a grant covers, so it has no files.
  const files = grants === undefined ? await filesOf(context, request, asked) : unbound;
  const isMasked = hidesSecrets({ ...asked, ...files }, context.mask);
  const rule = ruleFor(context.policy, call.name, isMasked);
  const impossibility = impossibilityOf(rule) ?? files.problem;
  return { asked, hash: hashOfCall(context, call, workingFolder), rule, isMasked, impossibility, grants, ...files };
}

type ShownFiles = Pick<PendingCall, "bound" | "difference"> & { problem?: string };
const unbound: ShownFiles = { bound: undefined, difference: undefined };

const tooManyFiles =
  "Nobody can approve this call: its folder has too many files to see whether one changes in the meantime. Use a smaller folder.";

async function filesOf(
  { files }: ApprovalsContext,
  { target, workingFolder }: ApprovalRequest,
  { call, before }: ApprovalRequest["calls"][number],
): Promise<ShownFiles> {
  const bound = await files?.bind({ conversationId: target.conversationId, workingFolder, call });
  if (bound?.isCut === true) return { ...unbound, bound, problem: tooManyFiles };
  if (files === undefined || bound === undefined || before === undefined) return { ...unbound, bound };
  const difference = await files.difference(before, bound);
  if (difference !== undefined) return { ...unbound, bound, difference };
  return { ...unbound, bound, problem: "Its files changed while people were asked, by too much for a card to show." };
}

function requesterIn({ target, requester: by, alsoAsked = [] }: ApprovalRequest): Requester {
  return { platform: target.platform, by, alsoAsked };
}

async function openRowsHere(context: ApprovalsContext, { target }: ApprovalRequest): Promise<ApprovalRow[]> {
  const open = await context.ledger.list("approval", { states: ["open"] });
  return open.filter(
    ({ body }) =>
      body.conversationId === target.conversationId &&
      body.target.platform === target.platform &&
      !isExpired(body, context.now()),
  );
}

/** Finds a card with a row for every call, because a reply shows only one card per step. */
function sharedCard(request: ApprovalRequest, pending: PendingCall[], open: ApprovalRow[]): string | undefined {
  const requester = requesterIn(request);
  const isTwin = ({ body }: ApprovalRow, { asked, hash, rule, bound, difference }: PendingCall) =>
    body.callHash === hash &&
    body.bound?.digest === bound?.digest &&
    body.difference === difference &&
    body.votes.length === 0 &&
    hasSameFacts(body, { facts: factsOf(asked, bound) }) &&
    hasSameAnswerers(body, rule, requester);
  const cardIds = new Set(open.map((row) => row.body.cardId));
  for (const cardId of cardIds) {
    const rows = open.filter((row) => row.body.cardId === cardId);
    if (pending.every((one) => rows.some((row) => isTwin(row, one)))) return cardId;
  }
  return undefined;
}

function factsOf({ facts = [] }: Pick<ApprovalRecord, "facts">, bound: BoundFiles | undefined): string[] {
  const line = bound === undefined ? undefined : boundText(bound);
  return line === undefined ? facts : [...facts, line];
}

/** For example `Runs with deploy.sh and lib.sh as they are now.` */
function boundText({ isCommand, isWhole, names, count }: BoundFiles): string | undefined {
  if (count === 0) return undefined;
  const verb = isCommand ? "Runs with" : "Uses";
  if (isWhole) return `${verb} the folder as it is now.`;
  const more = count - names.length;
  const all = more === 0 ? names : [...names, more === 1 ? "1 more file" : `${more} more files`];
  return `${verb} ${namesText(all)} as ${count === 1 ? "it is" : "they are"} now.`;
}

/** Calls with different facts must not share a row, because a row shows the facts of only one record. */
function hasSameFacts(one: Pick<ApprovalRecord, "facts">, other: Pick<ApprovalRecord, "facts">): boolean {
  return JSON.stringify(one.facts ?? []) === JSON.stringify(other.facts ?? []);
}

function maxOpenCards({ policy }: ApprovalsContext): number {
  return policy.maxOpenCards ?? defaultMaxOpenCards;
}

function callRecord(
  context: ApprovalsContext,
  { turnId, target, scope, requester, alsoAsked = [], workingFolder }: ApprovalRequest,
  { asked, hash, rule, isMasked, bound, difference }: PendingCall,
  cardId: string,
): ApprovalRecord {
  const createdAt = context.now();
  const expiryMs = expiryMsOf(context.policy);
  const ask = context.askOf?.(asked.call.name);
  const facts = factsOf(asked, bound);
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
    ...(ask === undefined ? {} : { ask }),
    extraTags: asked.extraTags ?? [],
    ...(asked.isTainted === true ? { isTainted: true } : {}),
    ...(facts.length === 0 ? {} : { facts }),
    ...(asked.round === undefined ? {} : { round: asked.round }),
    ...(bound === undefined ? {} : { bound }),
    ...(difference === undefined ? {} : { difference }),
    ...(asked.undo === undefined ? {} : { undo: asked.undo }),
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
  { impossibility, grants }: PendingCall,
  isFull: boolean,
): Promise<ApprovalRow> {
  if (impossibility !== undefined) return await saveRecord(context, "denied", { ...record, reason: impossibility });
  const granted = await grantedRecord(context, record, grants);
  if (granted !== undefined) return await saveRecord(context, "approved", granted);
  if (!isFull) return await saveRecord(context, "open", record);
  const reason = `${maxOpenCards(context)} approval cards are already open in this conversation and must be answered first.`;
  return await saveRecord(context, "denied", { ...record, reason });
}
