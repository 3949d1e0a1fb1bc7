/** Answers of people who have signed in to the dashboard: the same people, under the same rules, as in the chat. */
import { describe, expect, test } from "vitest";
import type { ApprovalsOptions } from "../../src/approvals/context.ts";
import type { AnsweringPerson, OperatorDecision } from "../../src/ports/approval.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ann, call, click, folder, person, setUp } from "./approvals-fixture.ts";

const on = (platform: string, id: string): AnsweringPerson => ({ platform, by: person(id) });
/** Ann of the chat in which the cards are, and people who sign in. */
const annHere = on("test", "ann");
const benHere = on("test", "ben");
const caraAccount = on("account", "cara");
const idaOidc = on("oidc", "ida");

function desk(changes: Partial<ApprovalsOptions> & Pick<ApprovalsOptions, "policy">) {
  const made = setUp(changes);
  return {
    ...made,
    answer: (who: AnsweringPerson, cardOrApprovalId: string, choice: OperatorDecision["choice"] = "approve") =>
      made.approvals.decideAs(who, { cardOrApprovalId, choice }),
    mayAnswer: async (who: AnsweringPerson, cardId: string) =>
      (await made.approvals.answerable(who, [cardId])).size > 0,
  };
}

describe("who may answer", () => {
  test.each<[string, string[], AnsweringPerson, boolean]>([
    ["the requester in the chat", ["requester"], annHere, true],
    ["a listed person of the chat", ["user:test:ben"], benHere, true],
    ["a person of the chat who is not listed", ["requester"], benHere, false],
    ["a person of another chat with the requester's id", ["requester"], on("discord", "ann"), false],
    ["a listed person of another chat service", ["user:discord:77"], on("discord", "77"), false],
    ["a listed account", ["user:account:cara"], caraAccount, true],
    ["a listed person of the identity provider", ["user:oidc:ida"], idaOidc, true],
    ["an account with the requester's id", ["requester"], on("account", "ann"), false],
    ["an account, where the list names an id without a service", ["user:cara"], caraAccount, false],
    ["an account with the name of a listed role", ["role:cara"], caraAccount, false],
    ["a person of the identity provider with the name of an account", ["user:account:ida"], idaOidc, false],
    ["a subject that looks like an entry", ["user:account:cara"], on("oidc", "account:cara"), false],
    ["an account where the operator must answer", ["operator"], on("account", "operator"), false],
  ])("%s", async (_who, approvers, who, isAccepted) => {
    const made = desk({ policy: { approvers } });
    const { cardId, approvalId } = await made.ask();
    expect(await made.mayAnswer(who, cardId)).toBe(isAccepted);
    const receipt = await made.answer(who, approvalId);
    expect(receipt.accepted).toBe(isAccepted);
    if (!isAccepted) expect(receipt.text).toMatch(/can answer this/);
    expect(await made.stateOf(approvalId)).toBe(isAccepted ? "approved" : "open");
    expect(made.audit.lines).toHaveLength(isAccepted ? 1 : 0);
  });

  test("where the list is empty, nobody who signs in can answer either", async () => {
    const made = desk({ policy: { approvers: [] } });
    const { approvalId } = await made.ask();
    expect((await made.answer(caraAccount, approvalId)).accepted).toBe(false);
    expect(await made.stateOf(approvalId)).toBe("denied");
  });

  test("owners only, where the tool is for owners", async () => {
    const made = desk({
      policy: { approvers: ["user:account:cara"], owners: ["user:oidc:ida"], ownersOnly: () => true },
    });
    const { approvalId } = await made.ask();
    expect((await made.answer(caraAccount, approvalId)).accepted).toBe(false);
    expect((await made.answer(idaOidc, approvalId)).accepted).toBe(true);
  });

  test("with notRequester, the requester can't approve on the dashboard either, but can say no", async () => {
    const made = desk({ policy: { approvers: ["requester", "user:account:cara"], notRequester: true } });
    const first = await made.ask();
    const refused = await made.answer(annHere, first.approvalId);
    expect(refused).toMatchObject({ accepted: false, text: expect.stringContaining("somebody else must approve") });
    expect((await made.answer(caraAccount, first.approvalId)).accepted).toBe(true);
    const second = await made.ask("t2", call("c2"));
    expect(await made.mayAnswer(annHere, second.cardId)).toBe(true);
    expect((await made.answer(annHere, second.approvalId, "deny")).accepted).toBe(true);
  });

  test("a card id that does not exist, and one that is settled, change nothing", async () => {
    const made = desk({ policy: { approvers: ["requester"] } });
    expect((await made.answer(annHere, "nothing")).text).toContain("no longer valid");
    const { approvalId, cardId } = await made.ask();
    await made.answer(annHere, approvalId, "deny");
    const late = await made.answer(annHere, approvalId);
    expect(late).toMatchObject({ accepted: false, text: expect.stringContaining("Ann denied") });
    expect(await made.mayAnswer(annHere, cardId)).toBe(false);
  });
});

describe("with a quorum", () => {
  const policy = { approvers: ["user:test:ann", "user:account:ann", "user:oidc:ida"], quorum: 2 };

  test("each identity counts once, in the chat or on the dashboard, and others see whose approval is there", async () => {
    const made = desk({ policy });
    const { cardId, approvalId } = await made.ask();
    expect((await made.approvals.answer(click(cardId))).text).toContain("1 more approval is needed");
    expect(await made.answer(annHere, approvalId)).toMatchObject({
      accepted: false,
      text: expect.stringContaining("You have already approved."),
    });
    expect(await made.mayAnswer(annHere, cardId)).toBe(false);
    expect(await made.mayAnswer(idaOidc, cardId)).toBe(true);
    expect((await made.answer(idaOidc, approvalId)).accepted).toBe(true);
    expect(await made.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "approved" });
  });

  test("the same id of another service is another person, named by the settings", async () => {
    const made = desk({ policy });
    const { approvalId } = await made.ask();
    await made.answer(annHere, approvalId);
    expect((await made.answer(on("account", "ann"), approvalId)).accepted).toBe(true);
    const votes = (await made.ledger.get("approval", approvalId))?.body.votes;
    expect(votes?.map(({ by, platform }) => [platform, by.id])).toEqual([
      [undefined, "ann"],
      ["account", "ann"],
    ]);
  });

  test("two people at the same moment, in two processes, both count", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const [one, two] = [setUp({ policy }, ledger), setUp({ policy }, ledger)];
    const { approvalId } = await one.ask();
    const receipts = await Promise.all([
      one.approvals.decideAs(annHere, { cardOrApprovalId: approvalId, choice: "approve" }),
      two.approvals.decideAs(idaOidc, { cardOrApprovalId: approvalId, choice: "approve" }),
    ]);
    expect(receipts.map(({ accepted }) => accepted)).toEqual([true, true]);
    expect((await ledger.get("approval", approvalId))?.body.votes).toHaveLength(2);
    expect(await one.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "approved" });
  });
});

test("of a yes and a no at the same moment, one counts, and the other person reads who was first", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const policy = { approvers: ["user:test:ann", "user:account:cara"] };
  const [one, two] = [setUp({ policy }, ledger), setUp({ policy }, ledger)];
  const { approvalId } = await one.ask();
  const receipts = await Promise.all([
    one.approvals.decideAs(annHere, { cardOrApprovalId: approvalId, choice: "approve" }),
    two.approvals.decideAs(caraAccount, { cardOrApprovalId: approvalId, choice: "deny" }),
  ]);
  expect(receipts.filter(({ accepted }) => accepted)).toHaveLength(1);
  const state = (await ledger.get("approval", approvalId))?.state;
  expect(state).toBe(receipts[0]?.accepted ? "approved" : "denied");
  const [winner, loser] = state === "approved" ? ["Ann approved", receipts[1]] : ["Cara denied", receipts[0]];
  expect(loser?.text).toContain(winner);
});

describe("people who leave, and services that can't say", () => {
  test("somebody who is no longer where it was asked can't answer, and sees no card", async () => {
    const made = desk({ policy: { approvers: ["user:test:ben"] }, authority: async () => undefined });
    const { cardId, approvalId } = await made.ask();
    expect(await made.mayAnswer(benHere, cardId)).toBe(false);
    expect((await made.answer(benHere, approvalId)).text).toContain("you are no longer where it was asked");
  });

  test("a role in the chat counts as it is now, not as it was", async () => {
    let roles: string[] = ["ops"];
    const made = desk({ policy: { approvers: ["role:ops"] }, authority: async (by) => ({ ...by, roles }) });
    const { cardId, approvalId } = await made.ask();
    expect(await made.mayAnswer(benHere, cardId)).toBe(true);
    roles = [];
    expect((await made.answer(benHere, approvalId)).accepted).toBe(false);
    made.clock.now += 60_000;
    expect(await made.mayAnswer(benHere, cardId)).toBe(false);
  });

  test("a page that asks all the time looks somebody up once a minute, and each answer does so again", async () => {
    let lookUps = 0;
    const made = desk({
      policy: { approvers: ["user:test:ben"] },
      authority: async (by) => {
        lookUps += 1;
        return by;
      },
    });
    const [one, two] = [await made.ask("t1"), await made.ask("t2", call("c2", { command: "rm other.txt" }))];
    const load = () => made.approvals.answerable(benHere, [one.cardId, two.cardId]);
    for (let count = 0; count < 10; count++) expect((await load()).size).toBe(2);
    expect(lookUps).toBe(1);
    made.clock.now += 60_000;
    await load();
    expect(lookUps).toBe(2);
    await made.answer(benHere, one.approvalId);
    expect(lookUps).toBe(3);
  });

  test("an account that may not answer any more loses the vote that it gave, before the call runs", async () => {
    const gone = new Set<string>();
    const asked: string[] = [];
    const made = desk({
      policy: { approvers: ["user:account:cara"] },
      authority: async (by, { platform }) => {
        asked.push(`${platform}:${by.id}`);
        return gone.has(by.id) ? undefined : by;
      },
    });
    const { approvalId } = await made.ask();
    expect((await made.answer(caraAccount, approvalId)).accepted).toBe(true);
    gone.add("cara");
    expect(await made.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({
      type: "refused",
      reason: expect.stringContaining("The approval by Cara no longer counts"),
    });
    expect(new Set(asked)).toEqual(new Set(["account:cara"]));
  });

  test("while the chat can't say who somebody is, nothing changes", async () => {
    const made = desk({
      policy: { approvers: ["user:test:ben"] },
      authority: async () => {
        throw new Error("unreachable");
      },
    });
    const { cardId, approvalId } = await made.ask();
    expect(await made.mayAnswer(benHere, cardId)).toBe(false);
    const receipt = await made.answer(benHere, approvalId);
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("Could not check") });
    expect(await made.stateOf(approvalId)).toBe("open");
  });

  test("a rule that was changed since counts too: nobody answers who is not in both", async () => {
    const policy = { approvers: ["user:account:cara"] };
    const made = desk({ policy });
    const { cardId, approvalId } = await made.ask();
    policy.approvers = ["user:oidc:ida"];
    for (const who of [caraAccount, idaOidc]) {
      expect(await made.mayAnswer(who, cardId)).toBe(false);
      expect((await made.answer(who, approvalId)).accepted).toBe(false);
    }
  });
});

describe("what was decided", () => {
  test("the audit log has the identity, what the card showed, and that it was no operator", async () => {
    const made = desk({ policy: { approvers: ["user:account:cara", "user:test:ben"] } });
    const first = await made.ask();
    await made.answer(caraAccount, first.approvalId);
    const second = await made.ask("t2", call("c2"));
    await made.answer(benHere, second.approvalId, "deny");
    expect(made.audit.lines).toMatchObject([
      {
        name: "approval.answered",
        fields: {
          ...{ approvalId: first.approvalId, choice: "approve", isOperator: false },
          ...{ by: { id: "cara", name: "Cara" }, onDashboardAs: "account:cara", requester: { id: "ann" } },
          shown: { text: expect.stringContaining('command: "rm notes.txt"') },
        },
      },
      { name: "approval.answered", fields: { choice: "deny", onDashboardAs: "test:ben" } },
    ]);
  });

  test("an answer that can't be recorded has no effect", async () => {
    const made = desk({ policy: { approvers: ["user:account:cara"] } });
    const { approvalId } = await made.ask();
    made.audit.failure = new Error("the disk is full");
    expect(await made.answer(caraAccount, approvalId)).toMatchObject({
      accepted: false,
      text: expect.stringContaining("the disk is full"),
    });
    expect(await made.stateOf(approvalId)).toBe("open");
  });

  test("the card in the chat says who decided, and the call that runs is the one that was shown", async () => {
    const made = desk({ policy: { approvers: ["user:account:cara"] } });
    const { cardId, approvalId } = await made.ask();
    await made.answer(caraAccount, approvalId);
    await made.approvals.whenIdle();
    expect((await made.approvals.card(cardId))?.items[0]?.outcome).toBe("Cara approved `shell_exec` for Ann");
    const outcome = await made.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toMatchObject({ type: "approved", call: call("c1"), isEdited: false, by: { id: "cara" } });
  });

  test("after somebody has edited the call in the chat, an answer to what was shown before changes nothing", async () => {
    const made = desk({ policy: { approvers: ["requester", "user:account:cara"] } });
    const { cardId, approvalId } = await made.ask();
    const edit = click(cardId, { choice: "edit", editedJson: '{"command":"rm drafts.txt"}', by: ann });
    expect((await made.approvals.answer(edit)).accepted).toBe(true);
    const late = await made.answer(caraAccount, approvalId, "deny");
    expect(late).toMatchObject({ accepted: false, text: expect.stringContaining("Nothing left to answer") });
    expect(await made.stateOf(approvalId)).toBe("approved");
  });

  test("a call whose arguments changed after the answer does not run on it", async () => {
    const made = desk({ policy: { approvers: ["user:account:cara"] } });
    const { approvalId } = await made.ask();
    await made.answer(caraAccount, approvalId);
    const other = call("c1", { command: "rm everything.txt" });
    expect(await made.approvals.redeem(approvalId, other, folder)).toMatchObject({ type: "refused" });
  });
});
