/**
 * Redeems an approval right before its call runs. Checks expiry, call, grant, approvers and gate again, because each
 * may have changed, and consumes the approval by compare-and-set. If anything is in doubt, the call does not run.
 */
import { namesText } from "../lib/text/names-text.ts";
import type { ApprovalOutcome, ApprovalRecord, ApprovalVote } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";
import { jobIdOf, type ToolCall } from "../ports/tool.ts";
import type { ApprovalRow } from "./card.ts";
import { type ApprovalsContext, changeRow, endRow, expireDue, hashOfCall, isExpired, ruleNow } from "./context.ts";
import { mayAnswer, standingOf } from "./may-answer.ts";
import { cancelledLate } from "./record.ts";

export async function redeemApproval(
  context: ApprovalsContext,
  approvalId: string,
  call: ToolCall,
  workingFolder: string,
): Promise<ApprovalOutcome> {
  const row = await context.ledger.get("approval", approvalId);
  if (row === undefined) return refusedNow("There is no record of an approval for this call.");
  switch (row.state) {
    case "denied":
    case "expired":
    case "cancelled":
      return refusalOutcome(row);
    case "open":
      return isExpired(row.body, context.now()) ? await expire(context, row) : { type: "waiting" };
    case "approved":
      return await redeemApproved(context, row, call, workingFolder);
    case "consumed":
      return await redeemAgain(context, row, call, workingFolder);
    default:
      return row.state satisfies never;
  }
}

async function redeemApproved(
  context: ApprovalsContext,
  row: ApprovalRow,
  call: ToolCall,
  workingFolder: string,
): Promise<ApprovalOutcome> {
  if (isExpired(row.body, context.now())) return await expire(context, row);
  const problem = await problemNow(context, row.body, call, workingFolder);
  if (problem !== undefined) return await cancel(context, row, problem);
  const changed = await changedFiles(context, row.body);
  if (changed !== undefined) return { ...(await cancel(context, row, changedText(changed.files))), changed };
  const consumed = await context.ledger.transition("approval", row.id, ["approved"], "consumed", (body) =>
    isExpired(body, context.now()) ? undefined : body,
  );
  // A stop, an expiry or another redemption came first, so return its outcome.
  if (consumed === undefined) return await redeemApproval(context, row.id, call, workingFolder);
  return approvedOutcome(consumed);
}

/** After a crash, the turn may redeem a consumed approval again. The queue's journal runs a started call only once. */
async function redeemAgain(
  context: ApprovalsContext,
  row: ApprovalRow,
  call: ToolCall,
  workingFolder: string,
): Promise<ApprovalOutcome> {
  if (call.id !== row.body.call.id) return refusedNow("This approval was already used for another call.");
  const queued = await context.ledger.get("call", jobIdOf(row.body.turnId, call.id, row.body.round));
  if (queued !== undefined && queued.state !== "planned") return approvedOutcome(row);
  const problem = isExpired(row.body, context.now())
    ? "The approval expired before the call ran."
    : await problemNow(context, row.body, call, workingFolder);
  const changed = problem === undefined ? await changedFiles(context, row.body) : undefined;
  const reason = problem ?? (changed && changedText(changed.files));
  if (reason === undefined) return approvedOutcome(row);
  await context.records.record([cancelledLate(row, reason, context.now())]);
  return { ...refusedNow(reason), ...(changed === undefined ? {} : { changed }) };
}

type Refused = Extract<ApprovalOutcome, { type: "refused" }>;

async function changedFiles({ files }: ApprovalsContext, { bound }: ApprovalRecord): Promise<Refused["changed"]> {
  const found = bound === undefined ? undefined : await files?.changedSince(bound);
  return found === undefined || bound === undefined ? undefined : { files: found, before: bound };
}

function changedText(names: readonly string[]): string {
  return `Changed after this card was shown: ${namesText([...names])}.`;
}

async function problemNow(
  context: ApprovalsContext,
  record: ApprovalRecord,
  call: ToolCall,
  workingFolder: string,
): Promise<string | undefined> {
  return (
    callProblem(context, record, call, workingFolder) ??
    (await problemWithVotes(context, record)) ??
    gateProblem(context, record)
  );
}

export async function problemWithVotes(context: ApprovalsContext, record: ApprovalRecord): Promise<string | undefined> {
  return (await grantProblem(context, record)) ?? (await authorityProblem(context, record));
}

/** Used for a missing record, or for a record whose state is final. */
function refusedNow(reason: string): Refused {
  return { type: "refused", state: "cancelled", reason };
}

function callProblem(
  context: ApprovalsContext,
  { requestedHash, callHash, call: approved, workingFolder: approvedFolder }: ApprovalRecord,
  call: ToolCall,
  workingFolder: string,
): string | undefined {
  const asked = hashOfCall(context, call, workingFolder);
  const isAsked = asked === requestedHash || asked === callHash;
  // The stored call is the one that runs, so it must still match its hash.
  const isStored = hashOfCall(context, approved, approvedFolder) === callHash;
  if (isAsked && isStored && call.id === approved.id) return undefined;
  return "The call, its folder or its skill has changed since the approval.";
}

async function grantProblem(context: ApprovalsContext, { grantIds }: ApprovalRecord): Promise<string | undefined> {
  const isRevoked = grantIds.length > 0 && (await context.grants.isAnyRevoked(grantIds));
  return isRevoked ? "The grant that allowed it was revoked." : undefined;
}

/** Approvers must satisfy both the rule recorded with the request and the current rule. */
async function authorityProblem(context: ApprovalsContext, record: ApprovalRecord): Promise<string | undefined> {
  const rule = ruleNow(context, record);
  const valid = new Set<string>();
  for (const vote of record.votes) {
    const by = await lookUp(context, vote, record);
    if (typeof by === "string") return by;
    if (by !== undefined && mayAnswer(context, { body: record }, { ...vote, by, choice: "approve" }))
      valid.add(`${vote.isOperator}:${vote.platform ?? ""}:${by.id}`);
  }
  if (valid.size >= Math.max(record.quorum, rule.quorum, 1)) return undefined;
  const names = [...new Set(record.votes.map((vote) => vote.by.name))].join(", ");
  return `The approval by ${names === "" ? "nobody" : names} no longer counts: the right to approve this call is gone.`;
}

/** Resolves to an error message if the look-up fails. The approval then does not count. */
async function lookUp(
  context: ApprovalsContext,
  vote: ApprovalVote,
  record: ApprovalRecord,
): Promise<Author | string | undefined> {
  const standing = await standingOf(context, record, vote);
  if (standing.type === "unknown")
    return `Could not check whether ${vote.by.name} may still approve (${standing.why}). Ask again later.`;
  return standing.type === "here" ? standing.by : undefined;
}

function gateProblem({ gate }: ApprovalsContext, { call, extraTags }: ApprovalRecord): string | undefined {
  const verdict = gate.classify(call.name, call.input, extraTags);
  if (verdict.class !== "block") return undefined;
  const skills = [...new Set(verdict.matches.filter((match) => match.kind === "danger").map((match) => match.skill))];
  return `The safety rules${skills.length === 0 ? "" : ` of ${skills.join(", ")}`} now block it.`;
}

async function expire(context: ApprovalsContext, row: ApprovalRow): Promise<ApprovalOutcome> {
  const at = context.now();
  await context.notices.around(row.body.cardId, [row.body.turnId], false, () => expireDue(context, [row], at));
  return await outcomeNow(context, row);
}

async function cancel(context: ApprovalsContext, row: ApprovalRow, reason: string): Promise<Refused> {
  await changeRow(context, row, () => endRow(context, row, ["approved"], "cancelled", reason), [row.body.turnId]);
  return await outcomeNow(context, row);
}

async function outcomeNow(context: ApprovalsContext, row: ApprovalRow): Promise<Refused> {
  return refusalOutcome((await context.ledger.get("approval", row.id)) ?? row);
}

function refusalOutcome({ state, body }: ApprovalRow): Refused {
  const isRefused = state === "denied" || state === "expired" || state === "cancelled";
  return {
    type: "refused",
    state: isRefused ? state : "cancelled",
    ...(state === "denied" && body.decidedBy !== undefined ? { by: body.decidedBy } : {}),
    ...(body.reason === undefined ? {} : { reason: body.reason }),
  };
}

function approvedOutcome({ id, body }: ApprovalRow): ApprovalOutcome {
  if (body.decidedBy === undefined) throw new TypeError(`approval ${id} has nobody who decided it`);
  const bound = body.bound === undefined ? {} : { bound: body.bound };
  return { type: "approved", by: body.decidedBy, call: body.call, isEdited: body.original !== undefined, ...bound };
}
