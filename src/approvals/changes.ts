/**
 * Approves changes to a working folder by the same rules as calls: quorum, expiry, grants and audit. Here the hash
 * covers the shown files, and no turn waits for the decision. A record may also report changes already kept so that
 * people can undo them.
 */
import { formatBytes } from "../lib/text/format-bytes.ts";
import type {
  ApprovalRecord,
  ChangesGrant,
  ChangesOutcome,
  ChangesRecord,
  ChangesRequest,
  WholeChanges,
} from "../ports/approval.ts";
import type { ApprovalCard, ApprovalState } from "../ports/card.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { Author } from "../ports/message.ts";
import { keepChangesTool } from "../ports/tool-offer.ts";
import { grantedRecord } from "./audit.ts";
import { impossibilityOf, requesterOf, ruleFor, ruleForAll } from "./authority.ts";
import type { ApprovalRow } from "./card.ts";
import { escapeFile } from "./card-text.ts";
import { areChangesMasked } from "./changes-card.ts";
import { type ApprovalsContext, cardOfTurn, changeRow, endRow, expireDue, isExpired, saveRecord } from "./context.ts";
import { createApprovalId } from "./hash.ts";
import { mayAnswer } from "./may-answer.ts";
import { problemWithVotes } from "./redeem.ts";
import { saveCard } from "./save-card.ts";

/** Recorded in place of a skill, because no skill's pattern asks about changes. No skill's name begins with a blank. */
const changesSource = " changes";

/** Discord takes files of up to 10 MiB. */
const maxFileBytes = 9 * 1024 * 1024;
const continuedBelow = "Continued below.";

type OpenedChanges = { card: ApprovalCard; approvalId: string; state: "open" | "approved" | "denied" | "consumed" };

export async function openChanges(context: ApprovalsContext, request: ChangesRequest): Promise<OpenedChanges> {
  const { turnId, changes, target } = request;
  const turnRows = await context.ledger.list("approval", { group: turnId });
  const known = turnRows.find(({ body }) => isSameDraft(body, changes));
  // A card from before a crash shows an older state of the folder, so replace it.
  for (const { id, body } of turnRows)
    if (body.changes?.draftId === changes.draftId && id !== known?.id)
      await replaceChanges(context, id, continuedBelow);
  const row = known ?? (await create(context, request));
  const card = await cardOfTurn(context, row.body.cardId, target.turnId);
  return { card, approvalId: row.id, state: openingState(row.state) };
}

function openingState(state: ApprovalState): OpenedChanges["state"] {
  return state === "expired" || state === "cancelled" ? "denied" : state;
}

function isSameDraft({ changes }: ApprovalRecord, { draftId, hash, kind }: ChangesRecord): boolean {
  return changes?.draftId === draftId && changes.hash === hash && changes.kind === kind;
}

async function create(context: ApprovalsContext, request: ChangesRequest): Promise<ApprovalRow> {
  const cardId = createApprovalId();
  const record = await changesRecord(context, request, cardId);
  await saveCard(context, request, cardId);
  const state = request.changes.kind === "report" ? "consumed" : initialState(record);
  return await context.notices.quietly(cardId, () => saveRecord(context, state, record));
}

function initialState({ reason, grantIds }: ApprovalRecord): ApprovalState {
  if (reason !== undefined) return "denied";
  return grantIds.length > 0 ? "approved" : "open";
}

async function changesRecord(
  context: ApprovalsContext,
  request: ChangesRequest,
  cardId: string,
): Promise<ApprovalRecord> {
  const { turnId, target, scope, requester, alsoAsked = [], workingFolder, changes, grant, undo, expiresAt } = request;
  const whole = request.whole && (await shownWhole(context, request.whole));
  const isMasked = whole !== undefined && areChangesMasked(changes, whole.text, context.mask);
  const asked = { platform: target.platform, by: requester, alsoAsked };
  const rule = ruleForAll(ruleFor(context.policy, keepChangesTool, isMasked), asked);
  const createdAt = context.now();
  const matches = (grant?.rules ?? []).map(
    (rule): GateMatch => ({
      kind: "confirm",
      skill: changesSource,
      ...rule,
      ...{ file: changesSource, line: 0, form: "exact" },
    }),
  );
  const record: ApprovalRecord = {
    ...{ id: createApprovalId(), cardId, turnId, conversationId: target.conversationId, scope, target },
    ...{ requester, alsoAsked, workingFolder, matches, ...rule, createdAt, expiresAt },
    ...(isMasked ? { isMasked } : {}),
    ...asShown(request, whole),
    ...(undo === undefined ? {} : { undo }),
    call: { id: `changes:${changes.draftId}`, name: keepChangesTool, input: { changes: changes.shown.title } },
    ...{ callHash: changes.hash, requestedHash: changes.hash, extraTags: [], votes: [], grantIds: [] },
  };
  if (changes.kind === "report") return record;
  const impossibility = impossibilityOf(rule);
  if (impossibility !== undefined) return { ...record, reason: impossibility };
  if (isMasked || record.changes?.unseen !== undefined || grant?.covers === undefined) return record;
  return await withGrants(context, record, record.changes ?? changes, grant.covers);
}

/** Everything that people can read, and why that is not everything. It is decided here, before anybody can approve. */
async function shownWhole({ mask }: ApprovalsContext, { text, missing }: WholeChanges) {
  const bytes = Buffer.byteLength(await escapeFile(mask(text)));
  const tooLong = bytes > maxFileBytes ? `It has ${formatBytes(bytes)}.` : undefined;
  return { text, unseen: missing ?? tooLong };
}

/** More than columns and indentation have. */
const hidesBehindBlanks = /(?<![ \t])[ \t]{200,}(?=[^ \t\n])/;

function asShown(
  request: ChangesRequest,
  whole: Awaited<ReturnType<typeof shownWhole>> | undefined,
): Pick<ApprovalRecord, "facts"> & { changes: ChangesRecord } {
  if (whole === undefined) return { changes: request.changes };
  const { changes } = request;
  const { unseen } = whole;
  const facts = hidesBehindBlanks.test(whole.text) ? ["A line has a long run of blanks. Read it to the end."] : [];
  if (unseen === undefined) return facts.length === 0 ? { changes } : { changes, facts };
  facts.push(unseenFact(unseen, request));
  return request.keepsUnasked === true ? { changes, facts } : { changes: { ...changes, unseen }, facts };
}

function unseenFact(unseen: string, { keepsUnasked }: ChangesRequest): string {
  if (keepsUnasked === true) return `Not all of it can be shown. ${unseen} You decide about the amount.`;
  return `This can't be approved, because it can't be shown whole. ${unseen} Ask for it in smaller steps, or do it yourself.`;
}

async function withGrants(
  context: ApprovalsContext,
  record: ApprovalRecord,
  changes: ChangesRecord,
  { shown, lost: lostWith, shrunk, problem }: NonNullable<ChangesGrant["covers"]>,
): Promise<ApprovalRecord> {
  const { target, conversationId, matches, quorum, approvers, notRequester } = record;
  const rule = { quorum, approvers, notRequester };
  const requester = requesterOf(record);
  const place = { platform: target.platform, conversationId, matches, requester, rule };
  const grants = await context.grants.covering(place);
  if (grants === undefined) return record;
  const lost = lostWith(Object.assign({}, ...grants.map(({ firstSizes }) => firstSizes)));
  const why = await problem(lost, [...new Set(grants.flatMap((grant) => grant.lost ?? []))]);
  if (why !== undefined) {
    const summary = `${changes.shown.summary} ${why}`;
    return { ...record, changes: { ...changes, shown: { ...changes.shown, summary } } };
  }
  if (!(await context.grants.addLost(grants, lost, shrunk))) return record;
  return (await grantedRecord(context, { ...record, changes: { ...changes, ...shown } }, grants)) ?? record;
}

export async function redeemChanges(context: ApprovalsContext, approvalId: string): Promise<ChangesOutcome> {
  const row = await context.ledger.get("approval", approvalId);
  if (row?.body.changes === undefined) return { type: "discard", sentence: "The record of this approval is gone." };
  switch (row.state) {
    case "open":
      if (!isExpired(row.body, context.now())) return { type: "waiting" };
      await expire(context, row);
      return await redeemChanges(context, approvalId);
    case "approved":
      return await consume(context, row);
    case "consumed":
      return row.body.changes.kind === "report" ? { type: "waiting" } : keep(row.body);
    case "denied":
      return { type: "discard", sentence: `${deniedText(row.body)} They were discarded.` };
    case "expired":
      return { type: "discard", sentence: "Nobody answered in time, so the changes were discarded." };
    case "cancelled":
      return { type: "discard", sentence: row.body.reason ?? "The request was cancelled." };
    default:
      return row.state satisfies never;
  }
}

function deniedText({ decidedBy, reason }: ApprovalRecord): string {
  const who = decidedBy === undefined ? "The changes were not approved" : `${decidedBy.name} denied the changes`;
  return reason === undefined ? `${who}.` : `${who}: ${reason.replace(/[.!]*$/, "")}.`;
}

async function consume(context: ApprovalsContext, row: ApprovalRow): Promise<ChangesOutcome> {
  const problem = await problemWithVotes(context, row.body);
  if (problem !== undefined) {
    await changeRow(context, row, () => endRow(context, row, ["approved"], "cancelled", problem));
    return await redeemChanges(context, row.id);
  }
  const consumed = await context.ledger.transition("approval", row.id, ["approved"], "consumed");
  return consumed === undefined ? await redeemChanges(context, row.id) : keep(consumed.body);
}

function keep({ decidedBy, requester, changes }: ApprovalRecord): ChangesOutcome {
  const by = decidedBy ?? requester;
  const { hash = "", chosen } = changes ?? {};
  return { type: "keep", by, hash, ...(chosen === undefined ? {} : { paths: chosen }) };
}

async function expire(context: ApprovalsContext, row: ApprovalRow): Promise<void> {
  await context.notices.around(row.body.cardId, [], false, () => expireDue(context, [row], context.now()));
}

/** Adds the outcome without changing the record's state. */
export async function finishChanges(
  context: ApprovalsContext,
  approvalId: string,
  outcome: Pick<ChangesRecord, "result" | "undoId" | "mayRunAgain">,
): Promise<void> {
  const row = await context.ledger.get("approval", approvalId);
  if (row === undefined) return;
  await changeRow(context, row, () =>
    context.ledger.transition("approval", row.id, [row.state], row.state, (body) => {
      if (body.changes === undefined) return undefined;
      const { undoId: _undo, mayRunAgain: _again, ...changes } = body.changes;
      return { ...body, changes: { ...changes, ...outcome } };
    }),
  );
}

/** Cancels a record that a newer card of the same draft has replaced. */
export async function replaceChanges(context: ApprovalsContext, approvalId: string, reason: string): Promise<void> {
  const row = await context.ledger.get("approval", approvalId);
  if (row === undefined) return;
  await changeRow(context, row, () => endRow(context, row, ["open", "approved"], "cancelled", reason));
}

/** The requester and everybody who could approve then and can now. */
export function mayTakeBack(
  context: ApprovalsContext,
  record: ApprovalRecord,
  by: Author,
  isOperator: boolean,
): boolean {
  if (isOperator) return true;
  if (by.isBot || record.requester.id === by.id) return !by.isBot;
  return mayAnswer(context, { body: record }, { by, isOperator: false, choice: "deny" });
}
