/** Records answers in the audit log before they take effect: who decided what, for whom, and what the card showed. */
import { hash } from "node:crypto";
import { messageOf } from "../lib/errors.ts";
import { describeRule } from "../lib/text/describe-rule.ts";
import type { ApprovalRecord, GrantRecord } from "../ports/approval.ts";
import type { AuditMap, ShownCard } from "../ports/audit.ts";
import type { CardItem } from "../ports/card.ts";
import type { Author } from "../ports/message.ts";
import { type ApprovalRow, openItem } from "./card.ts";
import type { ApprovalsContext } from "./context.ts";
import { grantableRules } from "./grants.ts";

export interface RecordedAnswer {
  choice: AuditMap["approval.answered"]["choice"];
  by: Author;
  isOperator: boolean;
  /** Where `by` is an identity, if the answer was given on the dashboard. */
  platform?: string;
  /** The new arguments as JSON; present only with `edit`. */
  input?: string;
}

/** Resolves when the answer is on disk, or to an error message if the answer must not take effect. */
export async function recordAnswer(
  context: ApprovalsContext,
  rows: Pick<ApprovalRow, "body">[],
  answer: RecordedAnswer,
): Promise<string | undefined> {
  try {
    await Promise.all(rows.map((row) => context.audit.record("approval.answered", answerFields(context, row, answer))));
    return undefined;
  } catch (thrown) {
    context.log.error({ error: messageOf(thrown) }, "could not record an answer, so it has no effect");
    return `Nothing was changed: ${messageOf(thrown)}.`;
  }
}

/**
 * The record as approved by the giver of these grants. Undefined without any, and if that can't be recorded: then people
 * are asked.
 */
export async function grantedRecord(
  context: ApprovalsContext,
  record: ApprovalRecord,
  grants: readonly GrantRecord[] | undefined,
): Promise<ApprovalRecord | undefined> {
  const by = grants?.[0]?.by;
  if (grants === undefined || by === undefined) return undefined;
  const { createdAt: at } = record;
  const votes = [{ by, at, isOperator: false }];
  const body = { ...record, votes, grantIds: grants.map(({ id }) => id), decidedBy: by, decidedAt: at };
  const unrecorded = await recordAnswer(context, [{ body }], { choice: "grant", by, isOperator: false });
  return unrecorded === undefined ? body : undefined;
}

function answerFields(
  context: ApprovalsContext,
  row: Pick<ApprovalRow, "body">,
  { choice, by, isOperator, input, platform }: RecordedAnswer,
): AuditMap["approval.answered"] {
  const { id: approvalId, turnId, conversationId, call, callHash, requester, grantIds } = row.body;
  const rules = choice === "allow" ? (grantableRules(row.body.matches) ?? []).map(describeRule) : [];
  return {
    ...{ turnId, conversationId, approvalId, callId: call.id, callHash, requester: personOf(requester) },
    ...{ by: personOf(by), isOperator, choice, tool: call.name, input: input ?? JSON.stringify(call.input) },
    shown: shownCard(context, row),
    ...(platform === undefined ? {} : { onDashboardAs: `${platform}:${by.id}` }),
    ...(choice === "allow" ? { rules, grantedUntil: context.now() + context.grantMs } : {}),
    ...(choice === "grant" ? { grantIds } : {}),
  };
}

function personOf({ id, name }: Author): Pick<Author, "id" | "name"> {
  return { id, name };
}

function shownCard(context: ApprovalsContext, { body }: Pick<ApprovalRow, "body">): ShownCard {
  const text = itemText(openItem(body, context), body);
  return { text, hash: hash("sha256", text) };
}

function itemText({ headline, callText, why, warning, facts = [], changes }: CardItem, record: ApprovalRecord): string {
  const parts = [
    headline,
    callText,
    ...facts,
    ...(warning === undefined ? [] : [`Warning: ${warning}`]),
    ...why.map((line) => `Why it asks: ${line}`),
    ...(changes === undefined ? [] : [changes.title, changes.summary]),
    ...(changes?.files ?? []).map(({ path, action, detail, warning = "" }) =>
      `${action} ${path} ${detail} ${warning}`.trimEnd(),
    ),
    ...(changes?.commands ?? []).map(({ text, outcome }) => `$ ${text} — ${outcome}`),
    changes?.lastOutput ?? "",
    changes?.diff ?? "",
    ...(record.changes === undefined ? [] : [`SHA-256 of the changes: ${record.changes.hash}`]),
  ];
  return parts.filter((part) => part !== "").join("\n");
}
