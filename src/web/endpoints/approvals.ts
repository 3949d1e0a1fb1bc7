/**
 * Open approvals. The person at the machine answers as the operator; a person who has signed in answers as in the chat, and
 * unless an operator, sees only cards to answer.
 */
import type { Hono } from "hono";
import { z } from "zod";
import type { ApprovalDesk, OperatorDecision } from "../../ports/approval.ts";
import { type ApprovalCard, type CardItem, maxShownFiles, type ShownChanges } from "../../ports/card.ts";
import type { AnswerChoice } from "../../ports/message.ts";
import { authorOf, isOperator, type SignedInPerson, type Visitor } from "../../ports/visitor.ts";
import { acting, reading } from "./respond.ts";

/** All text is plain and escaped. */
export interface ApprovalRow {
  id: string;
  turnId: string;
  conversationId: string;
  tool: string;
  call: string;
  /** What will happen, in plain words. Pairs of backticks mark code. */
  headline: string;
  reason: string | null;
  /** The rules that ask, shown on request. */
  why: string[];
  warning: string | null;
  facts: string[];
  /** Whether it can be undone. */
  undo: string | null;
  /** Shown instead of `call` for changes to a folder. */
  changes: ShownChanges | null;
  /** Button labels, if Approve and Deny would not say what they do. */
  labels: { approve: string; deny: string } | null;
  /** Of these, the dashboard offers approve, deny, part and diff. */
  choices: AnswerChoice[];
  /** Number of identical calls. One answer settles all of them. */
  times: number;
  progress: string | null;
  requester: string;
  approvers: string;
  expiresAt: number | null;
  /** Whether an answer of this visitor would count. */
  canAnswer: boolean;
}

const wrongAnswer =
  "This is not a valid answer: it needs cardOrApprovalId and choice (approve, deny or part), optionally a reason, and with part the parts.";
const decisionSchema = z
  .strictObject({
    cardOrApprovalId: z.string().min(1).max(200),
    choice: z.enum(["approve", "deny", "part"]),
    reason: z.string().max(2_000).optional(),
    parts: z.array(z.int().min(0).lt(maxShownFiles)).min(1).max(maxShownFiles).optional(),
  })
  .refine(({ choice, parts }) => (choice === "part") === (parts !== undefined));
const diffSchema = z.object({ id: z.string().min(1).max(200) });

export type DashboardDesk = Pick<ApprovalDesk, "decide" | "decideAs" | "answerable" | "diffOf" | "listOpen">;

export function mountApprovals(app: Hono, desk: DashboardDesk): void {
  acting(app, "/dashboard/answers", {
    schema: decisionSchema,
    invalid: wrongAnswer,
    act: ({ reason, parts, ...chosen }, visitor) => {
      const decision: OperatorDecision = {
        ...chosen,
        ...(reason === undefined ? {} : { reason }),
        ...(parts === undefined ? {} : { parts }),
      };
      return visitor.type === "machine" ? desk.decide(decision) : desk.decideAs(answererOf(visitor.person), decision);
    },
  });
  reading(app, "/dashboard/diffs/:id", diffSchema, async ({ id }, visitor) => {
    const shown = isOperator(visitor) ? undefined : await rowsFor(desk, visitor);
    if (shown?.every((row) => row.id !== id)) return undefined;
    const diff = await desk.diffOf(id);
    return diff === undefined ? undefined : { diff };
  });
}

/** Oldest first. */
export async function rowsFor(desk: Pick<DashboardDesk, "listOpen" | "answerable">, visitor: Visitor) {
  if (visitor.type === "person" && visitor.role === "viewer") return [];
  const cards = await desk.listOpen();
  if (visitor.type === "machine") return approvalRows(cards, () => true);
  const cardIds = cards.map(({ id }) => id);
  const own = await desk.answerable(answererOf(visitor.person), cardIds);
  const rows = approvalRows(cards, (id) => own.has(id));
  return isOperator(visitor) ? rows : rows.filter(({ canAnswer }) => canAnswer);
}

function answererOf(person: SignedInPerson) {
  return { platform: person.platform, by: authorOf(person) };
}

function approvalRows(cards: readonly ApprovalCard[], canAnswer: (id: string) => boolean): ApprovalRow[] {
  return cards.flatMap((card) =>
    card.items
      .filter((item) => item.state === "open")
      .map((item) => ({ ...rowOf(card, item), canAnswer: canAnswer(item.approvalId) })),
  );
}

function rowOf(card: ApprovalCard, item: CardItem): Omit<ApprovalRow, "canAnswer"> {
  return {
    id: item.approvalId,
    turnId: card.target.turnId,
    conversationId: card.target.conversationId,
    tool: item.tool,
    call: item.callText,
    headline: item.headline,
    reason: item.reason ?? null,
    why: item.why,
    warning: item.warning ?? null,
    facts: item.facts ?? [],
    undo: item.undo ?? null,
    changes: item.changes ?? null,
    labels: item.changes?.labels ?? item.labels ?? null,
    choices: item.choices,
    times: item.times,
    progress: item.progress ?? null,
    requester: card.requesterName,
    approvers: card.approversText,
    expiresAt: card.expiresAt,
  };
}
