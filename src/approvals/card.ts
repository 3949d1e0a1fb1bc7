/**
 * Builds approval cards from records only: they contain no text from the model, and everything is escaped. Masks
 * configured secrets, but nothing that only looks like one. Identical calls share a row, whose id answers for all.
 */
import type { Mask } from "../lib/redact.ts";
import { describePattern, describeRule } from "../lib/text/describe-rule.ts";
import type { ApprovalRecord } from "../ports/approval.ts";
import type { ApprovalCard, ApprovalState, CardItem } from "../ports/card.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { LedgerEntry } from "../ports/ledger.ts";
import type { AnswerChoice, ReplyTarget } from "../ports/message.ts";
import { approversText } from "./authority.ts";
import { budgetItem } from "./budget-text.ts";
import { callText, callWarning, cleaner, editableJson, isMasked } from "./card-text.ts";
import { changesText, openChangesChoices, settledChangesChoices } from "./changes-card.ts";
import { grantableRules } from "./grants.ts";

export type ApprovalRow = LedgerEntry<"approval">;

export interface CardView {
  mask: Mask;
  grantMs: number;
}

/** `rows` are all rows of the card, oldest first, at least one. `target` is where the message is sent. */
export function buildCard(id: string, rows: ApprovalRow[], target: ReplyTarget, view: CardView): ApprovalCard {
  const first = rows.find((row) => row.state === "open") ?? rows[0];
  if (first === undefined) throw new TypeError(`card ${id} has no row`);
  const clean = cleaner(view.mask);
  return {
    id,
    target,
    requesterName: clean(first.body.requester.name),
    approversText: clean(whoMayAnswer(rows)),
    expiresAt: first.body.expiresAt,
    items: groupIdentical(rows).map((group) => groupItem(group, view)),
  };
}

/** Lists each distinct group of approvers once, with the tools it decides on. */
function whoMayAnswer(rows: ApprovalRow[]): string {
  const open = rows.filter((row) => row.state === "open");
  const asked = open.length === 0 ? rows : open;
  const byText = new Map<string, Set<string>>();
  for (const { body } of asked) {
    const text = approversText(body, body.requester.name);
    byText.set(text, (byText.get(text) ?? new Set()).add(body.call.name));
  }
  if (byText.size === 1) return [...byText.keys()].join("");
  return [...byText].map(([text, tools]) => `${[...tools].join(", ")}: ${text}`).join(" · ");
}

/** Orders groups by their first row. */
export function groupIdentical(rows: ApprovalRow[]): [ApprovalRow, ...ApprovalRow[]][] {
  const groups = new Map<string, [ApprovalRow, ...ApprovalRow[]]>();
  for (const row of rows) {
    const group = groups.get(row.body.requestedHash);
    if (group === undefined) groups.set(row.body.requestedHash, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** Identical calls can end differently. Their row shows the state with the lowest rank. */
const displayRank: Record<ApprovalState, number> = {
  open: 0,
  consumed: 1,
  approved: 2,
  denied: 3,
  expired: 4,
  cancelled: 5,
};

function groupItem(group: [ApprovalRow, ...ApprovalRow[]], view: CardView): CardItem {
  const shown = group.reduce((best, row) => (displayRank[row.state] < displayRank[best.state] ? row : best));
  // Identical calls can have different facts, so list them all.
  const facts = [...new Set(group.flatMap((row) => row.body.facts ?? []))];
  const body = facts.length === 0 ? shown.body : { ...shown.body, facts };
  return rowItem(group[0].id, group.length, { ...shown, body }, view);
}

type ShownRow = Pick<ApprovalRow, "body" | "state">;

function rowItem(approvalId: string, times: number, shown: ShownRow, { mask, grantMs }: CardView): CardItem {
  const clean = cleaner(mask);
  const { body, state } = shown;
  const warning = callWarning(body.call);
  const choices = rowChoices(shown, mask);
  const editJson = choices.includes("edit") ? editableJson(body.call, mask) : undefined;
  const { changes } = body;
  const facts = [...maskedFacts(body, mask), ...(body.facts ?? []).map(clean)];
  return {
    approvalId,
    tool: clean(body.call.name),
    callText: changes === undefined ? callText(body.call, mask) : "",
    reasons: changes === undefined ? reasonLines(body.matches).map(clean) : [],
    ...(facts.length === 0 ? {} : { facts }),
    ...(changes === undefined ? {} : { changes: changesText(changes, state, mask) }),
    ...(warning === undefined ? {} : { warning }),
    times,
    state,
    choices,
    ...(editJson === undefined ? {} : { editJson }),
    ...(choices.includes("allow") ? { grantText: clean(grantText(body, grantMs)) } : {}),
    ...(body.original === undefined ? {} : { editedFrom: callText(body.original, mask) }),
    ...(state === "open" && body.votes.length > 0 ? { progress: clean(progressText(body)) } : {}),
    ...(state === "open" ? {} : { outcome: clean(outcomeText(shown)) }),
    ...(body.budget === undefined ? {} : budgetItem(body.budget, clean)),
  };
}

export function hidesSecrets(
  { changes, call, facts = [], isMasked: wasMasked }: Pick<ApprovalRecord, "changes" | "call" | "facts" | "isMasked">,
  mask: Mask,
): boolean {
  if (wasMasked === true) return true;
  return changes === undefined && (isMasked(call, mask) || facts.some((fact) => mask(fact) !== fact));
}

function maskedFacts(body: ApprovalRecord, mask: Mask): string[] {
  if (!hidesSecrets(body, mask)) return [];
  const what = body.changes === undefined ? "This call contains" : "These changes contain";
  return [`${what} configured secrets, shown here by name and length only. Only an owner can approve.`];
}

/** `answer` accepts exactly the choices that the card offers. */
export function rowChoices(row: ShownRow, mask: Mask): AnswerChoice[] {
  if (row.state !== "open") return row.body.changes === undefined ? [] : settledChangesChoices(row.body.changes);
  if (row.body.changes !== undefined) return openChangesChoices(row.body, row.body.changes);
  // Nobody may edit a call, or allow it in advance, without seeing all of it.
  if (hidesSecrets(row.body, mask)) return ["approve", "deny"];
  const choices: AnswerChoice[] = ["approve", "deny"];
  if (row.body.budget !== undefined) return choices;
  // If several people must approve, no single one may edit the call or allow it in advance.
  if (row.body.quorum > 1) return choices;
  if (editableJson(row.body.call, mask) !== undefined) choices.push("edit");
  if (row.body.isTainted !== true && grantableRules(row.body.matches) !== undefined) choices.push("allow");
  return choices;
}

export function openItem(body: ApprovalRecord, view: CardView): CardItem {
  return rowItem(body.id, 1, { body, state: "open" }, view);
}

function reasonLines(matches: GateMatch[]): string[] {
  return [...new Set(matches.map(reasonLine))];
}

/** Shows the pattern only if its skill gives no reason. */
function reasonLine({ skill, file, pattern, reason, form }: GateMatch): string {
  if (file === "" && reason !== undefined) return reason;
  // A pattern for a tag already implies the form.
  const variant = form === "exact" || form === "tag" ? "" : `, found in its ${form} form`;
  return `${reason ?? `matches “${describePattern(pattern)}”`} (skill ${skill}${variant})`;
}

function grantText({ matches, changes, requester }: ApprovalRecord, grantMs: number): string {
  if (changes !== undefined) {
    const what = matches.map(({ reason = "" }) => reason).join(" and ");
    return `For ${minutesText(grantMs)} in this conversation: ${what} without asking, for requests by ${requester.name}.`;
  }
  const rules = (grantableRules(matches) ?? []).map(describeRule).join(" and ");
  return `For ${minutesText(grantMs)} in this conversation: run calls that ask only because of ${rules} without asking, for requests by ${requester.name}.`;
}

export function minutesText(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / 60_000));
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}

export function progressText({ votes, quorum }: ApprovalRecord): string {
  return `${votes.length} of ${quorum} approvals: ${votes.map((vote) => vote.by.name).join(", ")}`;
}

/** Describes a row's outcome in one line of plain, unescaped text. */
export function outcomeText({ body, state }: ShownRow): string {
  const why = body.reason === undefined ? "" : `: ${body.reason}`;
  switch (state) {
    case "open":
      return "Waiting for an answer";
    case "approved":
    case "consumed":
      if (body.changes?.kind === "report") return body.changes.result ?? "Kept";
      if (body.changes?.result !== undefined) return `Approved by ${deciderNames(body)}. ${body.changes.result}`;
      if (body.grantIds.length > 0) return `Allowed in advance by ${deciderNames(body)}`;
      return `${body.original === undefined ? "Approved" : "Edited and approved"} by ${deciderNames(body)}`;
    case "denied":
      return `${deniedWord(body)}${body.decidedBy === undefined ? "" : ` by ${body.decidedBy.name}`}${why}`;
    case "expired":
      return body.votes.length >= body.quorum ? "Expired before it ran" : "Expired: nobody answered in time";
    case "cancelled":
      return body.changes === undefined ? `Cancelled${why}` : (body.reason ?? "Cancelled");
    default:
      return state satisfies never;
  }
}

/** Uses the same word as the button that was pressed. */
function deniedWord({ changes }: ApprovalRecord): string {
  return changes?.shown.labels.deny === "Discard" ? "Discarded" : "Denied";
}

function deciderNames({ votes, decidedBy }: ApprovalRecord): string {
  const names = votes.length > 0 ? votes.map((vote) => vote.by.name) : [decidedBy?.name ?? "somebody"];
  return [...new Set(names)].join(", ");
}
