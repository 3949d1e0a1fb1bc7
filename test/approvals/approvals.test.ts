import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ann, asks, ben, call, click, conversationId, folder, person, request, setUp } from "./approvals-fixture.ts";

describe("asking", () => {
  test("a step with several calls gets one card with a row each", async () => {
    const { approvals } = setUp();
    const calls = [call("c1"), call("c2", { command: "rm other.txt" })];
    const { card, approvalIds } = await approvals.open(request("t1", calls));
    expect(card.items.map((item) => item.approvalId)).toEqual(approvalIds);
    expect(card.items.map((item) => item.state)).toEqual(["open", "open"]);
    expect(await approvals.card(card.id)).toEqual(card);
  });

  test("ids have 128 random bits, in base64url, and never look like an option", async () => {
    const { approvals } = setUp({ policy: { maxOpenCards: 1000 } });
    const calls = Array.from({ length: 300 }, (_, index) => call(`c${index}`, { command: `rm ${index}` }));
    const { card, approvalIds } = await approvals.open(request("t1", calls));
    for (const id of [card.id, ...approvalIds]) expect(id).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
    expect(new Set(approvalIds).size).toBe(300);
  });

  test("asking again for the same calls of a turn gives the same records, also when a crash came half way", async () => {
    const { approvals, ledger } = setUp();
    const first = await approvals.open(request("t1", [call("c1")]));
    const both = await approvals.open(request("t1", [call("c1"), call("c2", { command: "rm b" })]));
    expect(both.card.id).toBe(first.card.id);
    expect(both.approvalIds[0]).toBe(first.approvalIds[0]);
    expect(await approvals.open(request("t1", [call("c1"), call("c2", { command: "rm b" })]))).toEqual(both);
    expect(await ledger.list("approval", {})).toHaveLength(2);
  });

  test("listOpen shows cards that wait, of one conversation or of all", async () => {
    const desk = setUp();
    const here = await desk.ask("t1");
    const elsewhere = { target: { platform: "test", conversationId: "test:C2", turnId: "t2", messageId: "m" } };
    const there = await desk.ask("t2", call("c1"), elsewhere);
    const ids = async (id?: string) => (await desk.approvals.listOpen(id)).map((card) => card.id);
    expect(await ids()).toEqual([here.cardId, there.cardId]);
    expect(await ids("test:C2")).toEqual([there.cardId]);
    await desk.approvals.answer(click(here.cardId));
    expect(await ids()).toEqual([there.cardId]);
    desk.clock.now += 60 * 60 * 1000;
    expect(await ids()).toEqual([]);
  });
});

describe("whose answer counts", () => {
  const cleo = { ...person("cleo"), name: "Cleo" };

  test("mayAnswer follows the rule of the request, the votes, the state and the time", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], quorum: 2 } });
    const { cardId } = await desk.ask();
    const may = async (by: typeof ann, platform = "test") => await desk.approvals.mayAnswer(cardId, platform, by);
    expect(await Promise.all([may(ann), may(ben), may(cleo), may({ ...ann, isBot: true })])).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(await may(ann, "local")).toBe(false);
    expect(await desk.approvals.mayAnswer("no-such-card", "test", ann)).toBe(false);
    await desk.approvals.answer(click(cardId));
    expect(await Promise.all([may(ann), may(ben)])).toEqual([false, true]);
    desk.clock.now += 60 * 60 * 1000;
    expect(await may(ben)).toBe(false);
  });

  test("the requester who may only deny is asked as well", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], notRequester: true } });
    const { cardId } = await desk.ask();
    expect(await desk.approvals.mayAnswer(cardId, "test", ann)).toBe(true);
  });
});

describe("answering", () => {
  test("approve runs the call once: the turn is woken, the card rewritten, and the event tells who and how long", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    desk.clock.now += 4_000;
    expect(await desk.approvals.answer(click(cardId))).toEqual({ accepted: true, text: "Approved." });
    await desk.approvals.whenIdle();
    expect(desk.woken).toEqual(["t1"]);
    expect(desk.shown.map((card) => card.items[0])).toMatchObject([
      { state: "approved", outcome: "Ann approved `shell_exec`", choices: [] },
    ]);
    const fields = { approvalId, turnId: "t1", callId: "c1", tool: "shell_exec", by: "ann", waitedMs: 4_000 };
    expect(desk.heard).toMatchObject([
      { name: "safety.approved", fields: { ...fields, isEdited: false, grantIds: [] } },
    ]);
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toEqual({ type: "approved", by: ann, call: call("c1"), isEdited: false });
    expect(await desk.stateOf(approvalId)).toBe("consumed");
  });

  test("deny tells the model why", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    const receipt = await desk.approvals.answer(click(cardId, { choice: "deny", reason: " use the trash\ninstead " }));
    expect(receipt.accepted).toBe(true);
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toEqual({ type: "refused", state: "denied", by: ann, reason: "use the trash\ninstead" });
    expect((await desk.approvals.card(cardId))?.items[0]?.outcome).toBe(
      "Ann denied `shell_exec`: “use the trash instead” It did not run.",
    );
    expect(desk.names()).toEqual(["safety.denied"]);
  });

  test("rows can be answered one by one, and the card's id answers all that are still open", async () => {
    const desk = setUp();
    const calls = [call("c1"), call("c2", { command: "rm b" }), call("c3", { command: "rm c" })];
    const { card, approvalIds } = await desk.approvals.open(request("t1", calls));
    await desk.approvals.answer(click(approvalIds[1] ?? "", { choice: "deny" }));
    expect((await desk.approvals.answer(click(card.id))).text).toBe("Approved: 2 calls.");
    expect(await Promise.all(approvalIds.map(desk.stateOf))).toEqual(["approved", "denied", "approved"]);
  });

  test("while a row is open nothing runs, and asking is no answer", async () => {
    const desk = setUp();
    const { approvalId } = await desk.ask();
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toEqual({ type: "waiting" });
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("the operator decides without being listed, but not where nobody may", async () => {
    const desk = setUp();
    const { approvalId } = await desk.ask();
    expect((await desk.approvals.decide({ cardOrApprovalId: approvalId, choice: "approve" })).accepted).toBe(true);
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({
      type: "approved",
      by: { id: "operator" },
    });
    const policy: { approvers: string[] } = { approvers: ["user:ben"] };
    const other = setUp({ policy });
    const asked = await other.ask();
    policy.approvers = [];
    expect((await other.approvals.decide({ cardOrApprovalId: asked.cardId, choice: "approve" })).accepted).toBe(false);
    expect(await other.stateOf(asked.approvalId)).toBe("open");
  });
});

describe("who may answer", () => {
  const cases: [string, string[], ReturnType<typeof person>, boolean][] = [
    ["the requester", ["requester"], ann, true],
    ["another than the requester", ["requester"], ben, false],
    ["a listed user", ["user:ben"], ben, true],
    ["a listed user of the platform", ["user:test:ben"], ben, true],
    ["a user listed for another platform", ["user:slack:ben"], ben, false],
    ["a holder of a listed role", ["role:ops"], person("cleo", { roles: ["dev", "ops"] }), true],
    ["a holder of other roles", ["role:ops"], person("cleo", { roles: ["dev", "opsx"] }), false],
    ["somebody whose name is a listed id", ["user:ben"], person("x9", { name: "ben" }), false],
    ["somebody whose id is the word requester", ["requester"], person("requester"), false],
    ["the requester who is not listed", ["user:ben"], ann, false],
    ["a bot, even a listed one", ["user:ben"], person("ben", { isBot: true }), false],
  ];
  test.each(cases)("%s", async (_who, approvers, by, isAccepted) => {
    const desk = setUp({ policy: { approvers } });
    const { approvalId, cardId } = await desk.ask();
    for (const choice of ["deny", "edit", "allow", "approve"] as const) {
      if (isAccepted && choice !== "approve") continue;
      const receipt = await desk.approvals.answer(click(cardId, { by, choice, editedJson: '{"command":"rm x"}' }));
      expect(receipt.accepted).toBe(isAccepted);
    }
    expect(await desk.stateOf(approvalId)).toBe(isAccepted ? "approved" : "open");
    expect(desk.woken).toEqual(isAccepted ? ["t1"] : []);
  });

  test("an empty list means nobody: denied at once with a reason, and no card to post", async () => {
    const desk = setUp({ policy: { approvers: [] } });
    const { approvalId, card } = await desk.ask();
    expect(card.items[0]).toMatchObject({ state: "denied", choices: [] });
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toMatchObject({ type: "refused", state: "denied", reason: expect.stringContaining("Nobody can") });
    expect(outcome).not.toHaveProperty("by");
  });

  test("tools without their sandbox can be answered by owners only, whoever else is listed", async () => {
    const policy = {
      approvers: ["requester"],
      owners: ["user:ben"],
      ownersOnly: (tool: string) => tool === "shell_exec",
    };
    const desk = setUp({ policy });
    const shell = await desk.ask("t1");
    const mail = await desk.ask("t2", call("c1", { to: "rm x" }, "mail_send"));
    expect(shell.card.approversText).toBe("user ben can answer");
    expect((await desk.approvals.answer(click(shell.cardId))).accepted).toBe(false);
    expect((await desk.approvals.answer(click(mail.cardId))).accepted).toBe(true);
    expect((await desk.approvals.answer(click(shell.cardId, { by: ben }))).accepted).toBe(true);
    const nobody = setUp({ policy: { ownersOnly: () => true } });
    expect((await nobody.ask()).card.items[0]?.state).toBe("denied");
  });

  test("a tool's own rule wins over the general one, and a tool called like an object's member has none", async () => {
    const desk = setUp({ policy: { tools: { deploy: { approvers: ["user:ben"] } } } });
    const deploy = await desk.ask("t1", call("c1", { what: "rm x" }, "deploy"));
    const odd = await desk.ask("t2", call("c1", { what: "rm x" }, "constructor"));
    expect((await desk.approvals.answer(click(deploy.cardId))).accepted).toBe(false);
    expect((await desk.approvals.answer(click(odd.cardId))).accepted).toBe(true);
  });

  test("with a quorum, different people must approve, and one can deny", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben", "user:cleo"], quorum: 2 } });
    const { approvalId, cardId, card } = await desk.ask();
    expect(card.items[0]?.choices).toEqual(["approve", "deny", "why"]);
    expect((await desk.approvals.answer(click(cardId))).text).toContain(
      "Your approval counts. Ann approved. 1 more approval is needed.",
    );
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(false);
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toEqual({ type: "waiting" });
    expect((await desk.approvals.card(cardId))?.items[0]?.progress).toBe("Ann approved. 1 more approval is needed.");
    expect((await desk.approvals.answer(click(cardId, { by: ben }))).accepted).toBe(true);
    expect((await desk.approvals.card(cardId))?.items[0]?.outcome).toBe("Ann and Ben approved `shell_exec`");
    expect(desk.woken).toEqual(["t1"]);
    const again = await desk.ask("t2");
    await desk.approvals.answer(click(again.cardId));
    await desk.approvals.answer(click(again.cardId, { by: person("cleo"), choice: "deny" }));
    expect(await desk.stateOf(again.approvalId)).toBe("denied");
  });

  test("with a quorum nobody can edit or allow, whatever a button says", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], quorum: 2 } });
    const { approvalId, cardId } = await desk.ask();
    const edit = await desk.approvals.answer(click(cardId, { choice: "edit", editedJson: '{"command":"rm all"}' }));
    const allow = await desk.approvals.answer(click(cardId, { choice: "allow" }));
    expect([edit.accepted, allow.accepted]).toEqual([false, false]);
    expect(await desk.approvals.listGrants()).toEqual([]);
    expect((await desk.ledger.get("approval", approvalId))?.body.votes).toEqual([]);
  });

  test("with notRequester the one who asked can't approve, edit or allow, but somebody else can", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], notRequester: true } });
    const { approvalId, cardId } = await desk.ask();
    for (const choice of ["approve", "edit", "allow"] as const) {
      const receipt = await desk.approvals.answer(click(cardId, { choice, editedJson: "{}" }));
      expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("somebody else must approve") });
    }
    expect((await desk.approvals.answer(click(cardId, { by: ben }))).accepted).toBe(true);
    expect(await desk.stateOf(approvalId)).toBe("approved");
    const alone = setUp({ policy: { notRequester: true } });
    expect((await alone.ask()).card.items[0]).toMatchObject({ state: "denied" });
  });

  test("a quorum that the list can't reach is denied at once", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], quorum: 3 } });
    expect((await desk.ask()).card.items[0]?.outcome).toContain("needs 3 approvers");
    const roles = setUp({ policy: { approvers: ["role:ops"], quorum: 3 } });
    expect((await roles.ask()).card.items[0]?.state).toBe("open");
  });
});

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

describe("the audit", () => {
  test("has who asked, who decided, the masked call and what was shown, before the answer counts", async () => {
    const desk = setUp({ policy: { owners: ["user:ben"] } });
    const { cardId, approvalId } = await desk.ask("t1", call("c1", { command: "rm -p hunter2secret" }));
    await desk.approvals.answer(click(cardId, { by: ben }));
    const [line, ...more] = desk.audit.lines;
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      name: "approval.answered",
      fields: {
        approvalId,
        callId: "c1",
        choice: "approve",
        requester: { id: "ann" },
        by: { id: "ben" },
        isOperator: false,
      },
    });
    const { shown } = (line?.fields ?? {}) as { shown: { text: string; hash: string } };
    expect(shown.text).toContain('command: "rm -p [VAULT_KEY, 13 characters]"');
    expect(shown.hash).toBe(createHash("sha256").update(shown.text).digest("hex"));
  });

  test.each(["approve", "allow", "edit"] as const)(
    "an answer that can't be recorded changes nothing: %s",
    async (choice) => {
      const desk = setUp();
      const { cardId, approvalId } = await desk.ask();
      desk.audit.failure = new Error("the disk is full");
      const receipt = await desk.approvals.answer(click(cardId, { choice, editedJson: '{"command":"rm other.txt"}' }));
      expect(receipt).toEqual({ accepted: false, text: "Nothing was changed: the disk is full." });
      expect(await desk.stateOf(approvalId)).toBe("open");
      expect(await desk.approvals.listGrants()).toEqual([]);
      expect((await desk.approvals.decide({ cardOrApprovalId: cardId, choice: "approve" })).accepted).toBe(false);
      desk.audit.failure = undefined;
      expect((await desk.approvals.answer(click(cardId))).accepted).toBe(true);
    },
  );

  test("a no that can't be recorded is a no all the same", async () => {
    const desk = setUp();
    const { cardId, approvalId } = await desk.ask();
    desk.audit.failure = new Error("the disk is full");
    expect((await desk.approvals.answer(click(cardId, { choice: "deny" }))).accepted).toBe(true);
    expect(await desk.stateOf(approvalId)).toBe("denied");
  });

  test("where a grant's use can't be recorded, people are asked", async () => {
    const desk = setUp();
    const { cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId, { choice: "allow" }));
    expect(desk.audit.lines.at(-1)?.fields).toMatchObject({ choice: "allow", rules: [expect.any(String)] });
    const granted = await desk.ask("t2", call("c1"));
    expect(await desk.stateOf(granted.approvalId)).toBe("approved");
    expect(desk.audit.lines.at(-1)?.fields).toMatchObject({ choice: "grant", grantIds: [expect.any(String)] });
    desk.audit.failure = new Error("the disk is full");
    const asked = await desk.ask("t3", call("c1"));
    expect(await desk.stateOf(asked.approvalId)).toBe("open");
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

describe("ends without an answer", () => {
  test("at its expiry, to the millisecond, a card is expired; the sweep wakes its turn and rewrites it", async () => {
    const desk = setUp({ policy: { expiryMs: 5_000 } });
    const { approvalId } = await desk.ask();
    await desk.approvals.sweep(desk.clock.now + 4_999);
    expect(await desk.stateOf(approvalId)).toBe("open");
    desk.clock.now += 5_000;
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(desk.woken).toEqual(["t1"]);
    expect(desk.shown[0]?.items[0]).toMatchObject({
      outcome: "Nobody answered in time: `shell_exec` for Ann. It did not run.",
      choices: [],
    });
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toEqual({ type: "refused", state: "expired" });
    expect(desk.names()).toEqual(["safety.expired"]);
  });

  test("without an expiry a card can be answered after years", async () => {
    const desk = setUp({ policy: { expiryMs: null } });
    const { cardId } = await desk.ask();
    desk.clock.now += 5 * 365 * 24 * 60 * 60 * 1000;
    await desk.approvals.sweep(desk.clock.now);
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(true);
  });

  test("a stopped turn's approvals are cancelled, also those that were approved and have not run; other turns' are not", async () => {
    const desk = setUp();
    const { card, approvalIds } = await desk.approvals.open(
      request("t1", [call("c1"), call("c2", { command: "rm b" })]),
    );
    const other = await desk.ask("t2", call("c1", { command: "rm z" }));
    await desk.approvals.answer(click(approvalIds[0] ?? ""));
    await desk.approvals.cancel("t1", "Stopped by Ann.");
    await desk.approvals.whenIdle();
    expect(await Promise.all(approvalIds.map(desk.stateOf))).toEqual(["cancelled", "cancelled"]);
    expect(await desk.stateOf(other.approvalId)).toBe("open");
    expect(desk.shown.at(-1)?.items.map((item) => item.outcome)).toEqual([
      "Cancelled: `shell_exec`. It did not run. Stopped by Ann.",
      "Cancelled: `shell_exec` for Ann. It did not run. Stopped by Ann.",
    ]);
    expect((await desk.approvals.answer(click(card.id))).text).toContain("Cancelled");
    const outcome = await desk.approvals.redeem(approvalIds[0] ?? "", call("c1"), folder);
    expect(outcome).toEqual({ type: "refused", state: "cancelled", reason: "Stopped by Ann." });
  });

  test("settled records are kept 30 days for audit; open ones for as long as they are open", async () => {
    const desk = setUp({ policy: { expiryMs: null } });
    desk.clock.now = Date.now();
    const settled = await desk.ask("t1");
    const open = await desk.ask("t2", call("c1", { command: "rm z" }));
    await desk.approvals.answer(click(settled.cardId, { choice: "deny" }));
    const day = 24 * 60 * 60 * 1000;
    await desk.approvals.sweep(desk.clock.now + 29 * day);
    expect(await desk.stateOf(settled.approvalId)).toBe("denied");
    await desk.approvals.sweep(desk.clock.now + 31 * day);
    expect(await desk.stateOf(settled.approvalId)).toBeUndefined();
    expect((await desk.approvals.answer(click(settled.cardId))).text).toContain("no longer valid");
    expect((await desk.approvals.answer(click(open.cardId))).accepted).toBe(true);
  });
});

describe("identical calls", () => {
  test("of one step are one row, answered together", async () => {
    const desk = setUp();
    const { card, approvalIds } = await desk.approvals.open(request("t1", [call("c1"), call("c2")]));
    expect(card.items).toMatchObject([{ times: 2 }]);
    await desk.approvals.answer(click(approvalIds[1] ?? ""));
    expect(await Promise.all(approvalIds.map(desk.stateOf))).toEqual(["approved", "approved"]);
  });

  test("of two turns share one card: one click answers both and rewrites both messages", async () => {
    const desk = setUp();
    const first = await desk.ask("t1");
    const second = await desk.ask("t2", call("x7"));
    expect(second.cardId).toBe(first.cardId);
    expect(second.card.target.turnId).toBe("t2");
    expect(await desk.approvals.listOpen(conversationId)).toHaveLength(1);
    await desk.approvals.answer(click(first.cardId));
    await desk.approvals.whenIdle();
    expect(desk.woken).toEqual(["t1", "t2"]);
    // Once when the second joined, so that the first card shows two calls; once when they were settled.
    expect(desk.shown.map((card) => [card.target.turnId, card.items[0]?.times, card.items[0]?.state])).toEqual([
      ["t1", 2, "open"],
      ["t2", 2, "open"],
      ["t1", 2, "approved"],
      ["t2", 2, "approved"],
    ]);
    expect((await desk.approvals.redeem(second.approvalId, call("x7"), folder)).type).toBe("approved");
  });

  test("do not share where others may answer, or where anything differs", async () => {
    const desk = setUp();
    const first = await desk.ask("t1");
    const others = [
      await desk.ask("t2", call("c1"), { requester: ben }),
      await desk.ask("t3", call("c1"), { workingFolder: "/elsewhere" }),
      await desk.ask("t4", call("c1", { command: "rm notes.txt " })),
    ];
    expect(new Set([first, ...others].map((asked) => asked.cardId)).size).toBe(4);
  });

  test("stopping one of the turns leaves the other's to be answered", async () => {
    const desk = setUp();
    const first = await desk.ask("t1");
    const second = await desk.ask("t2");
    await desk.approvals.cancel("t1");
    expect((await desk.approvals.card(first.cardId))?.items[0]).toMatchObject({ state: "open", times: 2 });
    await desk.approvals.answer(click(first.cardId));
    expect(await desk.stateOf(first.approvalId)).toBe("cancelled");
    expect(await desk.stateOf(second.approvalId)).toBe("approved");
  });
});

describe("too many open cards", () => {
  test("the rest is denied with a note, and asked again once there is room", async () => {
    const desk = setUp();
    const cards = [];
    for (let index = 0; index < 6; index++)
      cards.push(await desk.ask(`t${index}`, call("c1", { command: `rm ${index}` })));
    expect(cards.map(({ card }) => card.items[0]?.state)).toEqual([...Array(5).fill("open"), "denied"]);
    const outcome = await desk.approvals.redeem(cards[5]?.approvalId ?? "", call("c1", { command: "rm 5" }), folder);
    expect(outcome).toMatchObject({
      state: "denied",
      reason: expect.stringContaining("5 approval cards are already open"),
    });
    const same = await desk.ask("t6", call("c1", { command: "rm 0" }));
    expect(same.cardId).toBe(cards[0]?.cardId);
    const elsewhere = { target: { platform: "test", conversationId: "test:C2", turnId: "t8", messageId: "m" } };
    expect((await desk.ask("t8", call("c1", { command: "rm 8" }), elsewhere)).card.items[0]?.state).toBe("open");
    await desk.approvals.answer(click(cards[1]?.cardId ?? ""));
    expect((await desk.ask("t7", call("c1", { command: "rm 7" }))).card.items[0]?.state).toBe("open");
  });
});

describe("reasons", () => {
  test("a row says why it asks, for which skill, and in which form the call was found", async () => {
    const desk = setUp();
    const matches = [asks, { ...asks, reason: "hidden removal", form: "decoded", line: 14 }];
    const { card } = await desk.approvals.open({ ...request("t1", []), calls: [{ call: call("c1"), matches }] });
    expect(card.items[0]?.reason).toBe("Risk: Removes files. Hidden removal.");
    expect(card.items[0]?.why).toEqual([
      "Skill shell asks: removes files. Pattern “rm ” (shell/SKILL.md, line 12).",
      "Skill shell asks: hidden removal. Pattern “rm ” (shell/SKILL.md, line 14, found in its decoded form).",
    ]);
  });
});
