/** Dependencies and record operations shared by all parts of the approvals. */
import type { KeyedMutex } from "../lib/keyed-mutex.ts";
import type { Log } from "../lib/log.ts";
import type { Mask } from "../lib/redact.ts";
import type { BarredBecause, Repeats } from "../ports/access.ts";
import type { ApprovalRecord, CardRecord, ChangesActions } from "../ports/approval.ts";
import type { Audit } from "../ports/audit.ts";
import type { FileBinder } from "../ports/bound-files.ts";
import type { ApprovalCard, ApprovalState } from "../ports/card.ts";
import type { Events } from "../ports/events.ts";
import type { Gate } from "../ports/gate.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Feedback } from "../ports/memory.ts";
import type { Author, JsonObject, ReplyTarget } from "../ports/message.ts";
import type { ToolCall } from "../ports/tool.ts";
import type { BudgetDecisions } from "../ports/usage.ts";
import type { KnownNames } from "./approver-names.ts";
import { type AnswerRule, type ApprovalPolicy, budgetRule, requesterOf, ruleFor, ruleForAll } from "./authority.ts";
import { type ApprovalRow, buildCard, hidesSecrets } from "./card.ts";
import type { DecisionOutbox } from "./decision-outbox.ts";
import type { Grants } from "./grants.ts";
import { hashOf } from "./hash.ts";
import type { NotifyOptions } from "./notify/options.ts";
import { copyTargets, withNotify } from "./notify/shown.ts";
import { type DecisionRecords, decisionsOf, grantDecisionsOf } from "./record.ts";

export interface ApprovalsOptions {
  ledger: Ledger;
  events: Events;
  audit: Audit;
  gate: Gate;
  policy: ApprovalPolicy;
  /** Wakes a parked turn. Not called for approvals that the turn itself settles. */
  wake(turnId: string): void;
  /** Called after every change, and retried if it rejects. Must show the latest state. If absent, another process updates the card. */
  onSettled?: ((card: ApprovalCard) => Promise<void>) | undefined;
  /** Appends to the preference history. Resolves when this line and the events before it are on disk. */
  remember(feedback: Feedback): Promise<void>;
  /** Masks secrets in everything that people see before they decide. */
  mask: Mask;
  log: Log;
  now?: () => number;
  /** Looks a person up again right before a call runs. Resolves to undefined if the person has left. */
  authority?(by: Author, target: ReplyTarget): Promise<Author | undefined>;
  /** If absent, approvals cover the words of calls only. */
  files?: FileBinder;
  /** True if the person can read the conversation now. Absent if nobody can tell. */
  isPresent?(by: Author, target: Pick<ReplyTarget, "platform" | "conversationId">): Promise<boolean>;
  /** If absent, everybody may use the agent. */
  barredBecause?: BarredBecause;
  /** Checks edited arguments against the tool's schema. Resolves to an error message if they are wrong. */
  checkInput?(conversationId: string, tool: string, input: JsonObject): Promise<string | undefined>;
  changes?: ChangesActions;
  /** If absent, nobody can ask again. */
  repeats?: Repeats;
  /** If absent, there are no budgets. */
  budgets?: BudgetDecisions;
  /** If absent, cards notify nobody. */
  notify?: NotifyOptions | undefined;
  /** Identifies the current content of the tool's skill. Undefined for a tool without a skill. */
  skillFile?(tool: string): string | undefined;
  /** The tool's `ask:`: how a card says what a call will do. */
  askOf?(tool: string): string | undefined;
}

export interface ApprovalsContext extends ApprovalsOptions {
  now(): number;
  grants: Grants;
  notices: DecisionOutbox;
  records: DecisionRecords;
  serial: KeyedMutex;
  /** Starts to tell people what is due for a card. */
  tellPeople(cardId: string): void;
  grantMs: number;
}

export function isExpired(record: ApprovalRecord, at: number): boolean {
  return record.expiresAt !== null && at >= record.expiresAt;
}

export function ruleNow({ policy, mask }: ApprovalsContext, record: ApprovalRecord): AnswerRule {
  if (record.budget !== undefined) return budgetRule(policy);
  return ruleForAll(ruleFor(policy, record.call.name, hidesSecrets(record, mask)), requesterOf(record));
}

export function hashOfCall(
  context: ApprovalsContext,
  call: Pick<ToolCall, "name" | "input">,
  workingFolder: string,
): string {
  return hashOf(call, { workingFolder, skillFile: context.skillFile?.(call.name) ?? "" });
}

export interface CardRows {
  card: CardRecord;
  /** Oldest first. */
  rows: ApprovalRow[];
}

export async function cardRows(ledger: Ledger, cardId: string): Promise<CardRows | undefined> {
  const entry = await ledger.get("card", cardId);
  if (entry === undefined) return undefined;
  const lists = await Promise.all(entry.body.turnIds.map((turnId) => ledger.list("approval", { group: turnId })));
  const rows = lists.flat().filter((row) => row.body.cardId === cardId);
  return { card: entry.body, rows: rows.sort((one, other) => one.sequence - other.sequence) };
}

/** Builds the card once per turn that shows it (usually only one turn does), and once per copy. */
export async function cardsOf(context: ApprovalsContext, cardId: string): Promise<ApprovalCard[]> {
  const found = await cardRows(context.ledger, cardId);
  if (found === undefined) return [];
  const { card, rows } = found;
  const targets = new Map(rows.map((row) => [row.body.turnId, row.body.target]));
  const isApproved = rows.some(({ state }) => state === "approved" || state === "consumed");
  const grants = isApproved ? await context.grants.list(card.conversationId) : [];
  const given = grants.filter(({ origin }) => origin.cardId === cardId);
  const view = { mask: context.mask, grantMs: context.grantMs, names: knownNames(card) };
  return [...targets.values(), ...copyTargets(cardId, card)].map((target) =>
    withNotify(context.mask, buildCard(cardId, rows, target, view, given), card, rows),
  );
}

/** Known once it is decided who is told about the card. */
export function knownNames({ notify }: Pick<CardRecord, "notify">): KnownNames {
  const { people = [], roles = [], named = [] } = notify ?? {};
  return new Map([...people, ...roles, ...named].map(({ id, name }) => [id, name]));
}

type Settled = Exclude<ApprovalState, "open" | "consumed">;

/** The only way to settle a record. Of several callers only one succeeds, and only its event is emitted. */
export async function settle(
  context: ApprovalsContext,
  row: ApprovalRow,
  from: ApprovalState[],
  to: Settled,
  change: (body: ApprovalRecord) => ApprovalRecord | undefined,
): Promise<ApprovalRow | undefined> {
  const settled = await context.ledger.transition("approval", row.id, from, to, change);
  if (settled !== undefined) announce(context, settled);
  return settled;
}

/** Changes one row and its card. Wakes no turn. */
export async function changeRow(
  { notices }: ApprovalsContext,
  { body }: ApprovalRow,
  step: () => Promise<ApprovalRow | undefined>,
  turnIds: string[] = [],
): Promise<void> {
  await notices.around(body.cardId, turnIds, false, async () => {
    const changed = await step();
    return changed === undefined ? [] : [changed];
  });
}

/** Settles a row that no person has decided. */
export async function endRow(
  context: ApprovalsContext,
  row: ApprovalRow,
  from: ApprovalState[],
  to: "cancelled" | "denied",
  reason: string,
): Promise<ApprovalRow | undefined> {
  const decidedAt = context.now();
  return await settle(context, row, from, to, (body) => ({ ...body, reason, decidedAt }));
}

export async function saveRecord(
  context: ApprovalsContext,
  state: ApprovalState,
  body: ApprovalRecord,
): Promise<ApprovalRow> {
  await context.ledger.create("approval", body.id, { state, body, group: body.turnId });
  const row = await context.ledger.get("approval", body.id);
  if (row === undefined) throw new TypeError(`approval ${body.id} was written and is not there`);
  announce(context, row);
  return row;
}

/** The card as the turn shows it, which must have been written. */
export async function cardOfTurn(context: ApprovalsContext, cardId: string, turnId: string): Promise<ApprovalCard> {
  const card = (await cardsOf(context, cardId)).find(({ target }) => target.turnId === turnId);
  if (card === undefined) throw new TypeError(`card ${cardId} was written and is not there`);
  return card;
}

function announce({ records }: ApprovalsContext, row: ApprovalRow): void {
  const decision = decisionsOf(row).at(-1);
  if (decision !== undefined) records.announce(decision);
}

export async function recordCard({ ledger, records }: ApprovalsContext, cardId: string): Promise<void> {
  const found = await cardRows(ledger, cardId);
  if (found === undefined) return;
  const grants = await ledger.list("grant", { group: found.card.conversationId });
  const given = grants.map(({ body }) => body).filter(({ origin }) => origin.cardId === cardId);
  await records.record([...found.rows.flatMap(decisionsOf), ...given.flatMap(grantDecisionsOf)]);
}

export async function expireDue(context: ApprovalsContext, rows: ApprovalRow[], at: number): Promise<ApprovalRow[]> {
  const changed: ApprovalRow[] = [];
  for (const row of rows) {
    if (!isExpired(row.body, at)) continue;
    const expired = await settle(context, row, ["open", "approved"], "expired", (body) =>
      isExpired(body, at) ? { ...body, decidedAt: at } : undefined,
    );
    if (expired !== undefined) changed.push(expired);
  }
  return changed;
}
