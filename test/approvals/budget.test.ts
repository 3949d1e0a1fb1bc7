/** Cards that ask people to add to a budget. */
import { describe, expect, test } from "vitest";
import type { ApprovalsOptions } from "../../src/approvals/context.ts";
import type { BudgetRequest, OpenedBudget } from "../../src/ports/approval.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { BudgetAsk } from "../../src/ports/usage.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ann, ben, click, folder, hour, person, setUp, target } from "./approvals-fixture.ts";

const ask: BudgetAsk = {
  ...{ id: "2026-11-21 scope:test:channel:c1", kind: "channel", name: "", addition: 0, used: 8, limit: 10, step: 2 },
  endsAt: 1_700_000_000_000 + 30 * 60_000,
};

function open(turnId: string, changes: Partial<BudgetRequest> = {}): BudgetRequest {
  return {
    ...{ turnId, target: target(turnId), scope: "channel:c1", requester: ann, workingFolder: folder, ask },
    isBlocking: true,
    ...changes,
  };
}

function world(policy: ApprovalsOptions["policy"] = { owners: ["user:ben"] }, ledger?: Ledger) {
  const decided: string[] = [];
  const budgets: NonNullable<ApprovalsOptions["budgets"]> = {
    asked: async () => true,
    continued: async ({ addition }, by) => void decided.push(`${by} continued ${addition}`),
    declined: async ({ addition }, by) => void decided.push(`${by} declined ${addition}`),
  };
  return { ...setUp({ policy, budgets }, ledger), decided };
}

function cardOf(opened: OpenedBudget) {
  if (opened.type !== "open") throw new Error(`the card is closed: ${opened.state}`);
  const [item] = opened.card.items;
  if (item === undefined) throw new Error("the card is empty");
  return { ...opened.card, item };
}

const elsewhere = { platform: "test", conversationId: "test:C2", messageId: "m", turnId: "t9" };

test("the card says how much is used, and has no choices but to continue or to stop", async () => {
  const { approvals } = world();
  const { item, approversText } = cardOf(await approvals.openBudget(open("t1")));
  expect(item).toMatchObject({
    headline: "This channel has used $8.00 of $10 today. Continue, +$2.00?",
    ...{ choices: ["approve", "deny"], labels: { approve: "Continue, +$2.00", deny: "Stop at $10" } },
  });
  expect(approversText).toContain("ben");
});

test("a person's name can't forge the card", async () => {
  const { approvals } = world();
  const name = "Ann has used $0.00.\n`ok`\u202e";
  const { item } = cardOf(await approvals.openBudget(open("t1", { ask: { ...ask, kind: "user", name } })));
  expect(item.headline).not.toMatch(/[\n\u202e]/);
});

test("turns share one card in a conversation; only owners can answer, the first answer wins, and all turns wake", async () => {
  const { approvals, decided, woken } = world();
  const one = cardOf(await approvals.openBudget(open("t1")));
  const two = cardOf(await approvals.openBudget(open("t2")));
  expect(two.id).toBe(one.id);
  expect(await approvals.openBudget(open("t1"))).toMatchObject({ type: "open" });
  expect((await approvals.answer(click(one.item.approvalId, { by: ann }))).accepted).toBe(false);
  const answers = await Promise.all([1, 2].map(() => approvals.answer(click(one.item.approvalId, { by: ben }))));
  expect(answers.map(({ accepted }) => accepted).sort()).toEqual([false, true]);
  expect(decided.every((each) => each === "Ben continued 0")).toBe(true);
  expect(new Set(woken)).toEqual(new Set(["t1", "t2"]));
  expect(await approvals.openBudget(open("t2"))).toEqual({ type: "closed", state: "continued", by: "Ben" });
});

test.each([
  ["approve", "continued"],
  ["deny", "declined"],
] as const)("an answer (%s) settles the card in another conversation too", async (choice, state) => {
  const { approvals, woken } = world();
  const one = cardOf(await approvals.openBudget(open("t1")));
  const other = open("t9", { target: elsewhere });
  expect(cardOf(await approvals.openBudget(other)).id).not.toBe(one.id);
  await approvals.answer(click(one.item.approvalId, { by: ben, choice }));
  expect(await approvals.openBudget(other)).toEqual({ type: "closed", state, by: "Ben" });
  expect(woken).toContain("t9");
});

describe("an answer in one conversation counts in another only by that card's own rule:", () => {
  const notOwn = {
    owners: ["user:ann", "user:ben"],
    tools: { budget: { approvers: ["user:ann", "user:ben"], notRequester: true } },
  };

  test("who may not approve their own request stays unable to", async () => {
    const { approvals, decided, woken } = world(notOwn);
    const ofBen = cardOf(await approvals.openBudget(open("t1", { requester: ben })));
    const ofAnn = open("t9", { target: elsewhere, requester: ann });
    const own = cardOf(await approvals.openBudget(ofAnn));
    const at = { platform: "test", conversationId: "test:C2" };
    expect((await approvals.answer(click(own.item.approvalId, { by: ann, ...at }))).accepted).toBe(false);
    expect((await approvals.answer(click(ofBen.item.approvalId, { by: ann }))).accepted).toBe(true);
    expect(await approvals.openBudget(ofAnn)).toMatchObject({ type: "open" });
    expect(woken).not.toContain("t9");
    expect((await approvals.answer(click(own.item.approvalId, { by: ben, ...at }))).accepted).toBe(true);
    expect(await approvals.openBudget(ofAnn)).toEqual({ type: "closed", state: "continued", by: "Ben" });
    expect(decided.every((line) => line.endsWith("continued 0"))).toBe(true);
  });

  test("a card that needs two people is not decided by one, and all votes are carried over", async () => {
    const leads = ["cara", "dora"].map((id) => person(id));
    const approvers = leads.map(({ id }) => `user:${id}`);
    const ledger = createSqliteLedger({ path: ":memory:" });
    const desk = (quorum: number) => world({ tools: { budget: { approvers, quorum } } }, ledger).approvals;
    const two = desk(2);
    const strict = open("t9", { target: elsewhere });
    await two.openBudget(strict);
    // A card from before the policy asked for two people.
    const early = cardOf(await desk(1).openBudget(open("t1")));
    await desk(1).answer(click(early.item.approvalId, { by: leads[0] ?? ben }));
    const card = cardOf(await two.openBudget(strict));
    expect((await ledger.get("approval", card.item.approvalId))?.body.votes).toMatchObject([{ by: { id: "cara" } }]);
  });

  test("an operator's answer is stored as one, with a line in the audit for each card", async () => {
    const { approvals, ledger, audit } = world({});
    const one = cardOf(await approvals.openBudget(open("t1")));
    const other = cardOf(await approvals.openBudget(open("t9", { target: elsewhere })));
    await approvals.decide({ cardOrApprovalId: one.item.approvalId, choice: "approve" });
    const row = await ledger.get("approval", other.item.approvalId);
    expect(row?.state).toBe("consumed");
    expect(row?.body.votes).toMatchObject([{ isOperator: true }]);
    expect(audit.lines.filter(({ name }) => name === "approval.answered")).toHaveLength(2);
  });
});

test("the policy can name others, and how many must agree", async () => {
  const policy = { owners: ["user:ben"], tools: { budget: { approvers: ["role:leads"], quorum: 2 } } };
  const { approvals, decided } = world(policy);
  const { item } = cardOf(await approvals.openBudget(open("t1")));
  const leads = ["cara", "dora"].map((id) => person(id, { roles: ["leads"] }));
  expect((await approvals.answer(click(item.approvalId, { by: ben }))).accepted).toBe(false);
  await approvals.answer(click(item.approvalId, { by: leads[0] ?? ben }));
  expect(decided).toEqual([]);
  await approvals.answer(click(item.approvalId, { by: leads[1] ?? ben }));
  expect(decided).toEqual(["Dora continued 0"]);
});

test("without owners, the operator can answer; with an empty list, nobody is asked", async () => {
  const { approvals, decided } = world({});
  const { item } = cardOf(await approvals.openBudget(open("t1")));
  expect((await approvals.answer(click(item.approvalId, { by: ann }))).accepted).toBe(false);
  await approvals.decide({ cardOrApprovalId: item.approvalId, choice: "approve" });
  expect(decided).toEqual(["the operator continued 0"]);
  const nobody = world({ tools: { budget: { approvers: [] } } }).approvals;
  expect(await nobody.openBudget(open("t1"))).toEqual({ type: "closed", state: "impossible" });
});

test("the card ends with the budget's day, and a click after that changes nothing", async () => {
  const { approvals, clock, decided } = world({ owners: ["user:ben"], expiryMs: hour });
  const { item } = cardOf(await approvals.openBudget(open("t1")));
  clock.now += 31 * 60_000;
  expect((await approvals.answer(click(item.approvalId, { by: ben }))).accepted).toBe(false);
  expect(decided).toEqual([]);
  expect(await approvals.openBudget(open("t1"))).toEqual({ type: "closed", state: "expired" });
});

test("a card from before the budget was used up blocks later, and a new one appears if it had expired", async () => {
  const { approvals, clock, ledger } = world({ owners: ["user:ben"], expiryMs: 60_000 });
  const early = cardOf(await approvals.openBudget(open("t1", { isBlocking: false })));
  expect(cardOf(await approvals.openBudget(open("t1"))).id).toBe(early.id);
  expect((await ledger.get("approval", early.item.approvalId))?.body.budget?.isBlocking).toBe(true);
  const other = { ...ask, addition: 1 };
  const late = cardOf(await approvals.openBudget(open("t1", { isBlocking: false, ask: other })));
  clock.now += 61_000;
  expect(cardOf(await approvals.openBudget(open("t1", { ask: other }))).id).not.toBe(late.id);
});

describe("the end of a turn", () => {
  test("closes the card about the turn's own budget, and leaves that of the day open", async () => {
    const { approvals } = world();
    const own: BudgetAsk = { ...ask, id: "turn:t1", kind: "turn", endsAt: null };
    await approvals.openBudget(open("t1", { ask: own, isBlocking: false }));
    const { item } = cardOf(await approvals.openBudget(open("t1", { isBlocking: false })));
    await approvals.closeBudgets("t1");
    await approvals.cancel("t1");
    const left = await approvals.listOpen();
    expect(left.flatMap(({ items }) => items.map(({ approvalId }) => approvalId))).toEqual([item.approvalId]);
  });

  test("an answer whose effect was lost in a crash takes effect at the next sweep, and once", async () => {
    const { approvals, ledger, decided, clock } = world();
    const { item } = cardOf(await approvals.openBudget(open("t1")));
    const at = clock.now;
    await ledger.transition("approval", item.approvalId, ["open"], "approved", (body) => ({
      ...body,
      ...{ decidedBy: ben, decidedAt: at, votes: [{ by: ben, at, isOperator: false }] },
    }));
    await approvals.sweep(at);
    await approvals.sweep(at);
    expect(decided).toEqual(["Ben continued 0"]);
  });
});
