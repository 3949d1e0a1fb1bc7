/**
 * Approval cards, made from records alone: nothing a model said is on them, and every text is escaped. Configured
 * secrets are masked by their names; nothing is masked by its looks.
 *
 * Identical calls are one row: its id answers for all of them. A row shows the whole call, why it asks, what may be
 * chosen now, and, once settled, what became of it.
 */
import { basename, dirname } from "node:path";
import type { Mask } from "../lib/redact.ts";
import { describePattern, describeRule } from "../lib/text/describe-rule.ts";
import type { ApprovalCard, ApprovalRecord, ApprovalState, CardItem } from "../ports/approval.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { LedgerEntry } from "../ports/ledger.ts";
import type { AnswerChoice, ReplyTarget } from "../ports/message.ts";
import { approversText } from "./authority.ts";
import { callTextOf, editJsonOf, escapeHidden, isMasked, warningOf } from "./card-text.ts";
import { changesText, choicesAfter, choicesOfChanges } from "./changes-card.ts";
import { grantableRules } from "./grants.ts";

/** A record with its state. */
export type ApprovalRow = LedgerEntry<"approval">;

export interface CardView {
  mask: Mask;
  /** How long a grant would last, in milliseconds. */
  grantMs: number;
}

/** `rows` are all of the card, oldest first, and at least one. `target` is the place of the message to be written. */
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
    items: groupsOf(rows).map((group) => itemOf(group, view)),
  };
}

/** Once for all rows that the same people may answer. */
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

/** Rows of identical calls together, in the order of the first of each. */
export function groupsOf(rows: ApprovalRow[]): [ApprovalRow, ...ApprovalRow[]][] {
  const groups = new Map<string, [ApprovalRow, ...ApprovalRow[]]>();
  for (const row of rows) {
    const group = groups.get(row.body.requestedHash);
    if (group === undefined) groups.set(row.body.requestedHash, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** Of identical calls with different fates, the row shows the one that matters most to whoever reads it. */
const weight: Record<ApprovalState, number> = {
  open: 0,
  consumed: 1,
  approved: 2,
  denied: 3,
  expired: 4,
  cancelled: 5,
};

function itemOf(group: [ApprovalRow, ...ApprovalRow[]], view: CardView): CardItem {
  const shown = group.reduce((best, row) => (weight[row.state] < weight[best.state] ? row : best));
  // Of identical calls, each may take along and have read something else.
  const facts = [...new Set(group.flatMap((row) => row.body.facts ?? []))];
  const body = facts.length === 0 ? shown.body : { ...shown.body, facts };
  return itemFor(group[0].id, group.length, { ...shown, body }, view);
}

type ShownRow = Pick<ApprovalRow, "body" | "state">;

function itemFor(approvalId: string, times: number, shown: ShownRow, { mask, grantMs }: CardView): CardItem {
  const clean = cleaner(mask);
  const { body, state } = shown;
  const warning = warningOf(body.call);
  const choices = choicesOf(shown, mask);
  const editJson = choices.includes("edit") ? editJsonOf(body.call, mask) : undefined;
  const { changes } = body;
  const facts = [...maskedFacts(body, mask), ...(body.facts ?? []).map(clean)];
  return {
    approvalId,
    tool: clean(body.call.name),
    callText: changes === undefined ? callTextOf(body.call, mask) : "",
    reasons: changes === undefined ? reasonsOf(body.matches).map(clean) : [],
    ...(facts.length === 0 ? {} : { facts }),
    ...(changes === undefined ? {} : { changes: changesText(changes, state, mask) }),
    ...(warning === undefined ? {} : { warning }),
    times,
    state,
    choices,
    ...(editJson === undefined ? {} : { editJson }),
    ...(choices.includes("allow") ? { grantText: clean(grantTextOf(body, grantMs)) } : {}),
    ...(body.original === undefined ? {} : { editedFrom: callTextOf(body.original, mask) }),
    ...(state === "open" && body.votes.length > 0 ? { progress: clean(progressText(body)) } : {}),
    ...(state === "open" ? {} : { outcome: clean(outcomeText(shown)) }),
  };
}

/** Whether people see names of secrets where the call or the changes hold the secrets themselves. */
export function hidesSecrets(
  { changes, call, facts = [], isMasked: wasMasked }: Pick<ApprovalRecord, "changes" | "call" | "facts" | "isMasked">,
  mask: Mask,
): boolean {
  if (wasMasked === true) return true;
  return changes === undefined && (isMasked(call, mask) || facts.some((fact) => mask(fact) !== fact));
}

function maskedFacts(body: ApprovalRecord, mask: Mask): string[] {
  if (!hidesSecrets(body, mask)) return [];
  const what = body.changes === undefined ? "this call" : "these changes";
  return [
    `Secrets of the configuration in ${what} are shown by name and length only, so only an owner may approve it.`,
  ];
}

/** What the card offers for a row, and what `answer` accepts. */
export function choicesOf(row: ShownRow, mask: Mask): AnswerChoice[] {
  if (row.state !== "open") return row.body.changes === undefined ? [] : choicesAfter(row.body.changes);
  if (row.body.changes !== undefined) return choicesOfChanges(row.body, row.body.changes);
  // Nobody agrees in advance, or in other words, to what they do not see.
  if (hidesSecrets(row.body, mask)) return ["approve", "deny"];
  const choices: AnswerChoice[] = ["approve", "deny"];
  // One person can neither change a call that others must agree to, nor agree for them in advance.
  if (row.body.quorum > 1) return choices;
  if (editJsonOf(row.body.call, mask) !== undefined) choices.push("edit");
  if (row.body.isTainted !== true && grantableRules(row.body.matches) !== undefined) choices.push("allow");
  return choices;
}

/** What a card shows of a record while it can be answered. */
export function openItem(body: ApprovalRecord, view: CardView): CardItem {
  return itemFor(body.id, 1, { body, state: "open" }, view);
}

function reasonsOf(matches: GateMatch[]): string[] {
  return [...new Set(matches.map(reasonOf))];
}

function reasonOf(match: GateMatch): string {
  const { skill, file, pattern, reason, form } = match;
  if (file === "" && reason !== undefined) return reason;
  const because = reason === undefined ? "" : `${reason} — `;
  const where = file === "" ? "" : `, ${placeOf(match)}`;
  // A pattern that names a tag says so itself.
  const seen = form === "exact" || form === "tag" ? "" : `, seen in the ${form} form`;
  return `${because}“${describePattern(pattern)}” (skill ${skill}${where}${seen})`;
}

/** Where the whole pattern stands: `shell/SKILL.md:12`. */
function placeOf({ file, line }: GateMatch): string {
  return `${basename(dirname(file))}/${basename(file)}:${line}`;
}

function grantTextOf({ matches, changes, requester }: ApprovalRecord, grantMs: number): string {
  if (changes !== undefined) {
    const what = matches.map(({ reason = "" }) => reason).join(" and ");
    return `For ${minutesText(grantMs)}, in this conversation: ${what} without asking, when ${requester.name} asks for it.`;
  }
  const rules = grantableRules(matches) ?? [];
  const named = rules.map((rule) => {
    const match = matches.find(({ skill, pattern }) => skill === rule.skill && pattern === rule.pattern);
    return match === undefined ? describeRule(rule) : `${describeRule(rule)} (${placeOf(match)})`;
  });
  return `For ${minutesText(grantMs)}, in this conversation: calls that ask only because of ${named.join(" and ")} run without asking, when ${requester.name} asks for it.`;
}

export function minutesText(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / 60_000));
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}

export function progressText({ votes, quorum }: ApprovalRecord): string {
  return `${votes.length} of ${quorum} approvals: ${votes.map((vote) => vote.by.name).join(", ")}`;
}

/** How a row was settled, in one line of plain text, not yet escaped. */
export function outcomeText({ body, state }: ShownRow): string {
  const why = body.reason === undefined ? "" : `: ${body.reason}`;
  switch (state) {
    case "open":
      return "Not answered yet";
    case "approved":
    case "consumed":
      if (body.changes?.kind === "report") return body.changes.result ?? "Kept";
      if (body.changes?.result !== undefined) return `Approved by ${namesOf(body)}. ${body.changes.result}`;
      if (body.grantIds.length > 0) return `Allowed by a grant of ${namesOf(body)}`;
      return `${body.original === undefined ? "Approved" : "Edited and approved"} by ${namesOf(body)}`;
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

/** As the button was called that said no. */
function deniedWord({ changes }: ApprovalRecord): string {
  return changes?.shown.labels.deny === "Discard" ? "Discarded" : "Denied";
}

function namesOf({ votes, decidedBy }: ApprovalRecord): string {
  const names = votes.length > 0 ? votes.map((vote) => vote.by.name) : [decidedBy?.name ?? "somebody"];
  return [...new Set(names)].join(", ");
}

/** For texts of one line; what people write may have more. */
export function cleaner(mask: Mask): (text: string) => string {
  return (text) =>
    escapeHidden(
      mask(text)
        .trim()
        .replace(/\s*\n\s*/g, " "),
    );
}
