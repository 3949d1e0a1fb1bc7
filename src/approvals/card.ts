/**
 * Builds approval cards from records only: they contain no text from the model, and everything is escaped. Masks
 * configured secrets, but nothing that only looks like one. Identical calls share a row, whose id answers for all.
 */
import type { Mask } from "../lib/redact.ts";
import { namesText } from "../lib/text/names-text.ts";
import type { ApprovalRecord, GrantRecord } from "../ports/approval.ts";
import type { ApprovalCard, ApprovalState, CardItem } from "../ports/card.ts";
import type { LedgerEntry } from "../ports/ledger.ts";
import type { AnswerChoice, ReplyTarget } from "../ports/message.ts";
import { approversText, type KnownNames } from "./approver-names.ts";
import { budgetItem } from "./budget-text.ts";
import { callWarning } from "./call-warning.ts";
import { callText, cleaner, editableJson, escapeFileLines, isMasked } from "./card-text.ts";
import { changesText, openChangesChoices, settledChangesChoices } from "./changes-card.ts";
import { grantableRules } from "./grants.ts";
import { isWholeCall, recordHeadline } from "./headline.ts";
import { settledLine } from "./outcome.ts";
import { allowedText, grantText, reasonSentences, whyLines } from "./why.ts";

export type ApprovalRow = LedgerEntry<"approval">;

export interface CardView {
  mask: Mask;
  grantMs: number;
  /** The names of the people and roles that were looked up for the card. */
  names?: KnownNames;
}

/**
 * `rows` are all rows of the card, oldest first, at least one. `target` is where the message is sent. `grants` are the
 * active grants that its answers gave.
 */
export function buildCard(
  id: string,
  rows: ApprovalRow[],
  target: ReplyTarget,
  view: CardView,
  grants: readonly GrantRecord[] = [],
): ApprovalCard {
  const first = rows.find((row) => row.state === "open") ?? rows[0];
  if (first === undefined) throw new TypeError(`card ${id} has no row`);
  const clean = cleaner(view.mask);
  return {
    id,
    target,
    requesterName: clean(first.body.requester.name),
    approversText: clean(whoMayAnswer(rows, view.names)),
    expiresAt: first.body.expiresAt,
    ...lastExpiryOf(rows, first),
    items: groupIdentical(rows).map((group) => groupItem(group, view, grants)),
  };
}

function lastExpiryOf(rows: ApprovalRow[], first: ApprovalRow): Pick<ApprovalCard, "lastExpiresAt"> {
  const last = Math.max(...rows.map(({ body }) => body.expiresAt ?? Number.POSITIVE_INFINITY));
  const lastExpiresAt = Number.isFinite(last) ? last : null;
  return lastExpiresAt === first.body.expiresAt ? {} : { lastExpiresAt };
}

/** Lists each distinct group of approvers once, with the tools it decides on. */
function whoMayAnswer(rows: ApprovalRow[], names: KnownNames | undefined): string {
  const open = rows.filter((row) => row.state === "open");
  const asked = open.length === 0 ? rows : open;
  const byText = new Map<string, Set<string>>();
  for (const { body } of asked) {
    const text = approversText(body, names);
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

function groupItem(group: [ApprovalRow, ...ApprovalRow[]], view: CardView, grants: readonly GrantRecord[]): CardItem {
  const shown = group.reduce((best, row) => (displayRank[row.state] < displayRank[best.state] ? row : best));
  // Identical calls can have different facts, so list them all.
  const facts = [...new Set(group.flatMap((row) => row.body.facts ?? []))];
  const body = facts.length === 0 ? shown.body : { ...shown.body, facts };
  const item = rowItem(group[0].id, group.length, { ...shown, body }, view);
  const given = grants.filter(({ origin }) => group.some(({ id }) => id === origin.approvalId));
  const until = Math.min(...given.map(({ expiresAt }) => expiresAt));
  if (given.length === 0 || shown.state === "open") return item;
  const text = cleaner(view.mask)(allowedText(shown.body));
  return { ...item, choices: [...item.choices, "end"], grant: { text, until } };
}

type ShownRow = Pick<ApprovalRow, "body" | "state">;

function rowItem(approvalId: string, times: number, shown: ShownRow, { mask, grantMs }: CardView): CardItem {
  const clean = cleaner(mask);
  const { body, state } = shown;
  const warning = callWarning(body.call);
  const choices = rowChoices(shown, mask);
  const editJson = choices.includes("edit") ? editableJson(body.call, mask) : undefined;
  const { changes, difference } = body;
  const facts = [...maskedFacts(body, mask), ...(body.facts ?? []).map(clean)];
  const { text: headline, channels } = recordHeadline(body, mask);
  const reason = changes === undefined ? reasonSentences(body.matches, body.facts) : undefined;
  return {
    approvalId,
    tool: clean(body.call.name),
    headline,
    ...(channels.length === 0 ? {} : { channels }),
    callText: changes === undefined ? callText(body.call, mask) + differenceText(shown, mask) : "",
    ...(changes === undefined && difference === undefined && isWholeCall(body.call, body.ask, mask)
      ? { isHeadlineWhole: true }
      : {}),
    ...(reason === undefined ? {} : { reason: clean(reason) }),
    why: whyLines(body.matches).map(clean),
    ...(facts.length === 0 ? {} : { facts }),
    ...(state === "open" ? { undo: clean(undoText(body)) } : {}),
    ...(changes === undefined ? {} : { changes: changesText(changes, state, mask) }),
    ...(warning === undefined ? {} : { warning }),
    times,
    state,
    choices,
    ...(editJson === undefined ? {} : { editJson }),
    ...(choices.includes("allow") ? { grantText: clean(grantText(body, grantMs)) } : {}),
    ...(body.original === undefined ? {} : { editedFrom: callText(body.original, mask) }),
    ...(state === "open" && body.votes.length > 0 ? { progress: clean(progressText(body)) } : {}),
    ...(changes !== undefined && body.grantIds.length > 0 ? { isGranted: true as const } : {}),
    ...(state === "open" ? {} : { outcome: settledLine(shown, headline, mask) }),
    ...(state === "open" || body.decidedAt === undefined ? {} : { settledAt: body.decidedAt }),
    ...(body.budget === undefined ? {} : budgetItem(body.budget)),
  };
}

/** Never absent: who does not know whether something can be undone must take it that it can't. */
function undoText({ undo, budget, changes }: ApprovalRecord): string {
  if (budget !== undefined) return "Can't be undone: what a model has used is paid for.";
  return (
    undo ??
    (changes === undefined ? "Can't be undone: what it does is not known." : "Can't be undone once it is approved.")
  );
}

/** With a bar before each line, or it could look like an argument of the call. */
function differenceText({ body: { difference }, state }: ShownRow, mask: Mask): string {
  if (difference === undefined || state !== "open") return "";
  const lines = escapeFileLines(mask(difference)).split("\n");
  return ["", "", "Changed since the card before:", ...lines.map((line) => `  | ${line}`)].join("\n");
}

type MaskedParts = Pick<ApprovalRecord, "changes" | "call" | "facts" | "isMasked"> & {
  difference?: string | undefined;
};

export function hidesSecrets(
  { changes, call, facts = [], difference = "", isMasked: wasMasked }: MaskedParts,
  mask: Mask,
): boolean {
  if (wasMasked === true) return true;
  return changes === undefined && (isMasked(call, mask) || [...facts, difference].some((text) => mask(text) !== text));
}

function maskedFacts(body: ApprovalRecord, mask: Mask): string[] {
  if (!hidesSecrets(body, mask)) return [];
  const what = body.changes === undefined ? "The real values of secrets are used" : "The changes contain secrets";
  return [`${what}, but hidden here. Only an owner can approve.`];
}

/** `answer` accepts exactly the choices that the card offers. */
export function rowChoices(row: ShownRow, mask: Mask): AnswerChoice[] {
  if (row.state !== "open") return row.body.changes === undefined ? [] : settledChangesChoices(row.body.changes);
  if (row.body.changes !== undefined) return openChangesChoices(row.body, row.body.changes, mask);
  return [...callChoices(row, mask), ...(row.body.matches.length === 0 ? [] : ["why" as const])];
}

function callChoices(row: ShownRow, mask: Mask): AnswerChoice[] {
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

/** For example `Ben approved. 1 more approval is needed.` */
export function progressText({ votes, quorum }: ApprovalRecord): string {
  const left = quorum - votes.length;
  const more = left === 1 ? "1 more approval is" : `${left} more approvals are`;
  return `${namesText(votes.map(({ by }) => by.name))} approved. ${more} needed.`;
}
