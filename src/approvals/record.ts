/**
 * Records every decision as an event and as a line in the feedback file of its scope. `announce` emits the event.
 * `record` writes missing lines and marks the decisions in the ledger. An unmarked decision was made by another process
 * or before a crash, so `record` emits its event too. A line has the decision's id and is never written twice; an event
 * may be emitted twice if the process dies in between.
 */
import type { ApprovalRecord, GrantRecord } from "../ports/approval.ts";
import type { Events } from "../ports/events.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Feedback } from "../ports/memory.ts";
import type { Author } from "../ports/message.ts";
import type { ApprovalRow } from "./card.ts";

export interface Decision {
  /** Identical in every process that records the decision. */
  id: string;
  feedback: Feedback;
  emit(events: Events): void;
}

export interface RecordOptions {
  ledger: Ledger;
  events: Events;
  /** Resolves when the line and the events before it are on disk. */
  remember(feedback: Feedback): Promise<void>;
}

export interface DecisionRecords {
  announce(decision: Decision): void;
  record(decisions: Decision[]): Promise<void>;
}

export function createDecisionRecords({ ledger, events, remember }: RecordOptions): DecisionRecords {
  const announced = new Set<string>();

  function announce(decision: Decision): void {
    announced.add(decision.id);
    decision.emit(events);
  }

  return {
    announce,
    async record(decisions) {
      for (const decision of decisions) {
        const { id, feedback } = decision;
        if ((await ledger.get("decision", id)) === undefined) {
          if (!announced.has(id)) announce(decision);
          await remember(feedback);
          await ledger.create("decision", id, { state: "recorded", body: {}, group: feedback.turnId });
        }
        announced.delete(id);
      }
    },
  };
}

/** Returns the decisions in order. There can be several, because an approved call can still expire before it runs. */
export function decisionsOf(row: ApprovalRow): Decision[] {
  const { state, body } = row;
  switch (state) {
    case "open":
      return [];
    case "approved":
    case "consumed":
      // Nobody decided about a report.
      return body.changes?.kind === "report" ? [] : [approved(row)];
    case "denied":
      return [denied(row)];
    case "expired":
    case "cancelled":
      return [...(isApproved(body) ? [approved(row)] : []), ended(row, state)];
    default:
      return state satisfies never;
  }
}

function isApproved({ votes, quorum, grantIds }: ApprovalRecord): boolean {
  return grantIds.length > 0 || votes.length >= quorum;
}

function approved({ id, body }: ApprovalRow): Decision {
  const last = body.votes.at(-1);
  const at = last?.at ?? body.createdAt;
  const by = last?.by ?? body.requester;
  const voters = body.votes.map((vote) => vote.by.id);
  const { grantIds, requestedHash } = body;
  const isEdited = body.original !== undefined;
  return {
    ...feedbackFor(id, body, "approved", at, by),
    emit: (events) =>
      events.emit("safety.approved", {
        ...decisionFields(id, body, at),
        by: by.id,
        voters,
        grantIds,
        isEdited,
        requestedHash,
      }),
  };
}

function denied({ id, body }: ApprovalRow): Decision {
  const at = body.decidedAt ?? body.createdAt;
  const by = body.decidedBy;
  const reason = body.reason ?? "";
  return {
    ...feedbackFor(id, body, "denied", at, by),
    // If no person decided, the rules denied the call.
    emit: (events) => events.emit("safety.denied", { ...decisionFields(id, body, at), by: by?.id ?? "remora", reason }),
  };
}

function ended({ id, body }: ApprovalRow, state: "expired" | "cancelled"): Decision {
  const at = body.decidedAt ?? body.createdAt;
  const fields = decisionFields(id, body, at);
  return {
    ...feedbackFor(id, body, state, at),
    emit(events) {
      if (state === "expired") events.emit("safety.expired", fields);
      else events.emit("safety.cancelled", { ...fields, reason: body.reason ?? "" });
    },
  };
}

/** Describes a call that did not run although its approval was consumed. The approval's state stays final. */
export function cancelledLate(row: ApprovalRow, reason: string, at: number): Decision {
  return ended({ ...row, body: { ...row.body, reason, decidedAt: at } }, "cancelled");
}

export function grantDecisionsOf(grant: GrantRecord): Decision[] {
  return [granted(grant), ...(grant.revokedAt === undefined ? [] : [revoked(grant, grant.revokedAt)])];
}

export function granted(grant: GrantRecord): Decision {
  const { id: grantId, conversationId, skill, pattern, by, givenAt: at, expiresAt, origin } = grant;
  const { turnId, approvalId, scope, tool, userId } = origin;
  const summary = `${skill}: ${pattern}`;
  return {
    // Includes the expiry, because an extended grant counts as a new decision.
    id: `${grantId}:granted:${expiresAt}`,
    feedback: { id: `${grantId}:granted:${expiresAt}`, turnId, scope, at, tool, summary, outcome: "granted", by },
    emit: (events) =>
      events.emit("safety.granted", {
        ...{ turnId, conversationId, userId, approvalId, grantId, skill, pattern },
        ...{ by: by.id, decidedAt: at, expiresAt },
      }),
  };
}

function revoked(
  { id: grantId, conversationId, skill, pattern, origin, revokedBy }: GrantRecord,
  at: number,
): Decision {
  const { turnId, scope, tool } = origin;
  const by = revokedBy === undefined ? {} : { by: revokedBy };
  const summary = `${skill}: ${pattern}`;
  return {
    id: `${grantId}:revoked`,
    feedback: { id: `${grantId}:revoked`, turnId, scope, at, tool, summary, outcome: "revoked", ...by },
    emit: (events) =>
      events.emit("safety.revoked", {
        ...{ grantId, conversationId, skill, pattern },
        ...{ by: revokedBy?.id ?? "remora", decidedAt: at },
      }),
  };
}

function feedbackFor(approvalId: string, body: ApprovalRecord, outcome: string, at: number, by?: Author) {
  const { turnId, scope, call } = body;
  const id = `${approvalId}:${outcome}`;
  // Omit tainted arguments: later prompts show the summary, and others may have put instructions in the arguments.
  const summary = body.isTainted === true ? "(asked for after reading what others wrote)" : JSON.stringify(call.input);
  const waitedMs = waitedMsUntil(body, at);
  const who = by === undefined ? {} : { by };
  return { id, feedback: { id, turnId, scope, at, tool: call.name, summary, outcome, waitedMs, ...who } };
}

function decisionFields(approvalId: string, body: ApprovalRecord, decidedAt: number) {
  const { turnId, conversationId, requester, call, callHash, matches } = body;
  const rules = matches.map(({ skill, pattern, file, line, form }) => ({ skill, pattern, file, line, form }));
  return {
    ...{ turnId, conversationId, userId: requester.id, callId: call.id, tool: call.name, approvalId, callHash, rules },
    decidedAt,
    waitedMs: waitedMsUntil(body, decidedAt),
  };
}

/** Never negative, even if the clock was set back. */
function waitedMsUntil({ createdAt }: ApprovalRecord, at: number): number {
  return Math.max(0, at - createdAt);
}
