/**
 * Finds who should be told about a card, from the rules that are recorded with its calls. The requester is never among
 * them. A call that the requester may approve alone notifies nobody.
 */
import { type Approver, approverOf } from "../../lib/approver-entry.ts";
import { type AnswerRule, fits, requesterOf } from "../authority.ts";
import type { ApprovalRow } from "../card.ts";
import { votersHere } from "../has-voted.ts";

export interface Audience {
  /** In the order of the settings, without the requester and those who have voted. */
  approvers: Approver[];
  /** How many of them must approve, at least one. */
  needed: number;
}

/** Nobody, or not enough people, have answered in time. */
export function isExpiredCall({ state, body }: Pick<ApprovalRow, "state" | "body">): boolean {
  return (
    state === "expired" && body.changes === undefined && body.budget === undefined && body.votes.length < body.quorum
  );
}

/** `rows` are open. */
export function audienceOf(rows: readonly ApprovalRow[]): Audience {
  const waiting = rows.filter((row) => row.state === "open" && !mayDecideAlone(row));
  const approvers = waiting.flatMap(approversOf);
  const needed = Math.max(1, ...waiting.map(neededBesidesRequester));
  return { approvers: withoutRepeats(approvers), needed };
}

function withoutRepeats(approvers: Approver[]): Approver[] {
  return [...new Map(approvers.map((approver) => [`${approver.type}:${approver.id}`, approver])).values()];
}

function mayApprove(rule: AnswerRule, { body }: ApprovalRow): boolean {
  const requester = requesterOf(body);
  return fits(rule, requester, requester, "approve");
}

function mayDecideAlone(row: ApprovalRow): boolean {
  const { votes, quorum } = row.body;
  return mayApprove(row.body, row) && quorum - votes.length <= 1;
}

function neededBesidesRequester(row: ApprovalRow): number {
  const { votes, quorum, requester } = row.body;
  const isStillCounted = mayApprove(row.body, row) && !votersHere(row).includes(requester.id);
  return quorum - votes.length - (isStillCounted ? 1 : 0);
}

function approversOf(row: ApprovalRow): Approver[] {
  const { approvers, target, requester, alsoAsked = [], notRequester } = row.body;
  const left = new Set([requester.id, ...votersHere(row), ...(notRequester ? alsoAsked : [])]);
  const all = approvers.flatMap((entry) => approverOf(entry, target.platform));
  return all.filter(({ type, id }) => type === "role" || !left.has(id));
}
