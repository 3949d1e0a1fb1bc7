/** Editing a call before approving it, also if it has a configured secret. */
import { describe, expect, test } from "vitest";
import { ann, ben, call, click, folder, person, request, setUp } from "./approvals-fixture.ts";

describe("editing", () => {
  const edited = '{"command":"rm drafts.txt"}';

  test("the edited call is what runs, counts as approved by that person, and the difference is kept", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    expect((await desk.approvals.answer(click(cardId, { choice: "edit", editedJson: edited }))).accepted).toBe(true);
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    const wanted = call("c1", { command: "rm drafts.txt" });
    expect(outcome).toEqual({ type: "approved", by: ann, call: wanted, isEdited: true });
    expect(await desk.approvals.redeem(approvalId, wanted, folder)).toEqual(outcome);
    const item = (await desk.approvals.card(cardId))?.items[0];
    expect(item?.editedFrom).toContain("rm notes.txt");
    expect(item).toMatchObject({
      outcome: "Ann edited and approved `shell_exec`",
      callText: expect.stringContaining("drafts"),
    });
    expect(desk.heard).toMatchObject([{ name: "safety.approved", fields: { isEdited: true } }]);
  });

  const wrong: [string, string][] = [
    ["what is not JSON", "{command: rm}"],
    ["nothing", ""],
    ["a list", "[1]"],
    ["null", "null"],
    ["what the schema refuses", '{"command":7}'],
    ["what the gate blocks", '{"command":"mkfs /dev/sda"}'],
  ];
  test.each(wrong)("%s is refused with the reason, and the card stays open", async (_what, editedJson) => {
    const desk = setUp({
      checkInput: async (_conversation, _tool, input) =>
        typeof input.command === "string" ? undefined : "`command` must be a string.",
    });
    const { approvalId, cardId } = await desk.ask();
    const receipt = await desk.approvals.answer(click(cardId, { choice: "edit", editedJson }));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("Nothing was changed.") });
    expect((await desk.ledger.get("approval", approvalId))?.body.call).toEqual(call("c1"));
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(true);
  });

  test("the same arguments in other words are an ordinary approval", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask("t1", call("c1", { command: "rm x", force: true }));
    await desk.approvals.answer(click(cardId, { choice: "edit", editedJson: '{ "force": true, "command": "rm x" }' }));
    expect((await desk.ledger.get("approval", approvalId))?.body.original).toBeUndefined();
    expect(await desk.stateOf(approvalId)).toBe("approved");
  });

  test("of several different calls one must be picked", async () => {
    const desk = setUp();
    const { card, approvalIds } = await desk.approvals.open(
      request("t1", [call("c1"), call("c2", { command: "rm b" })]),
    );
    expect((await desk.approvals.answer(click(card.id, { choice: "edit", editedJson: edited }))).accepted).toBe(false);
    const [first = ""] = approvalIds;
    expect((await desk.approvals.answer(click(first, { choice: "edit", editedJson: edited }))).accepted).toBe(true);
    expect(await Promise.all(approvalIds.map(desk.stateOf))).toEqual(["approved", "open"]);
  });

  test("a call with a secret can't be edited: the card would have to show it", async () => {
    const desk = setUp();
    const { card, cardId } = await desk.ask("t1", call("c1", { command: "rm -p hunter2secret" }));
    expect(card.items[0]?.choices).not.toContain("edit");
    expect((await desk.approvals.answer(click(cardId, { choice: "edit", editedJson: edited }))).accepted).toBe(false);
  });

  test("a call can be edited into one with a secret by those only who may approve such a call", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], owners: ["user:ben"] } });
    const { cardId, approvalId } = await desk.ask();
    const withSecret = { choice: "edit" as const, editedJson: JSON.stringify({ command: "rm -p hunter2secret" }) };
    expect((await desk.approvals.answer(click(cardId, withSecret))).text).toContain("configured secret");
    expect(await desk.stateOf(approvalId)).toBe("open");
    expect((await desk.approvals.answer(click(cardId, { ...withSecret, by: ben }))).accepted).toBe(true);
    const row = await desk.ledger.get("approval", approvalId);
    expect((await desk.approvals.redeem(approvalId, call("c1"), folder)).type).toBe("approved");
    expect(row?.body.call.input).toEqual({ command: "rm -p hunter2secret" });
  });
});

describe("a call with a configured secret", () => {
  const secret = call("c1", { command: "rm -p hunter2secret" });

  test("can be approved by owners only, and the card says so", async () => {
    const desk = setUp({ policy: { owners: ["user:ben"] } });
    const { card, cardId, approvalId } = await desk.ask("t1", secret);
    expect(card.items[0]?.callText).toContain("[VAULT_KEY, 13 characters]");
    expect(card.items[0]?.facts?.[0]).toContain("Only an owner can approve");
    expect(card.approversText).toBe("user ben can answer");
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(false);
    expect((await desk.approvals.answer(click(cardId, { by: ben }))).accepted).toBe(true);
    expect((await desk.approvals.redeem(approvalId, secret, folder)).type).toBe("approved");
  });

  test("is for the operator where no owner is configured", async () => {
    const desk = setUp();
    const { card, cardId, approvalId } = await desk.ask("t1", secret);
    expect(card.approversText).toContain("the operator");
    for (const by of [ann, ben, person("operator")])
      expect((await desk.approvals.answer(click(cardId, { by }))).accepted).toBe(false);
    expect((await desk.approvals.decide({ cardOrApprovalId: cardId, choice: "approve" })).accepted).toBe(true);
    expect((await desk.approvals.redeem(approvalId, secret, folder)).type).toBe("approved");
  });

  test("is denied where nobody may approve the tool at all", async () => {
    const desk = setUp({ policy: { approvers: [] } });
    const { approvalId } = await desk.ask("t1", secret);
    expect(await desk.stateOf(approvalId)).toBe("denied");
  });

  test("is covered by no grant", async () => {
    const desk = setUp({ policy: { owners: ["user:ann"] } });
    const { cardId } = await desk.ask();
    expect((await desk.approvals.answer(click(cardId, { choice: "allow" }))).accepted).toBe(true);
    const { approvalId, card } = await desk.ask("t2", secret);
    expect(await desk.stateOf(approvalId)).toBe("open");
    expect(card.items[0]?.choices).toEqual(["approve", "deny", "why"]);
  });

  test("that an earlier version asked about without masking is still for owners only", async () => {
    const desk = setUp({ mask: (text) => text });
    const { cardId, approvalId } = await desk.ask("t1", secret);
    const later = setUp({ policy: { owners: ["user:ben"] } }, desk.ledger);
    expect((await later.approvals.answer(click(cardId))).accepted).toBe(false);
    expect(await later.stateOf(approvalId)).toBe("open");
  });
});
