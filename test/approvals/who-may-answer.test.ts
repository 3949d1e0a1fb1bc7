/** Whose answer counts, and how many are needed. */
import { describe, expect, test } from "vitest";
import { ann, ben, call, click, folder, person, setUp } from "./approvals-fixture.ts";

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

describe("people who left the channel of a card", () => {
  const channel = { scope: "channel:ops" } as const;
  const choices = ["approve", "deny", "edit", "allow", "handover", "why", "end", "diff", "undo", "again"] as const;

  test.each(choices)("a click on %s changes nothing and says why", async (choice) => {
    const desk = setUp({ isPresent: async (by) => by.id !== "ann" });
    const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
    const receipt = await desk.approvals.answer(click(cardId, { choice, editedJson: "{}" }));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("no longer where it was asked") });
    expect(await desk.stateOf(approvalId)).toBe("open");
    expect(desk.audit.lines).toEqual([]);
  });

  test.each(choices)(
    "a click on %s by somebody who left the workspace changes nothing and says why",
    async (choice) => {
      const desk = setUp({ isPresent: async () => true, authority: async () => undefined });
      const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
      const receipt = await desk.approvals.answer(click(cardId, { choice, editedJson: "{}" }));
      expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("no longer where it was asked") });
      expect(await desk.stateOf(approvalId)).toBe("open");
      expect(desk.audit.lines).toEqual([]);
    },
  );

  test.each(["approve", "deny"] as const)(
    "a click on %s counts with the roles of now, not those it came with",
    async (choice) => {
      const desk = setUp({ policy: { approvers: ["role:ops"] }, authority: async (by) => ({ ...by, roles: [] }) });
      const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
      const by = person("cleo", { roles: ["ops"] });
      expect((await desk.approvals.answer(click(cardId, { by, choice }))).accepted).toBe(false);
      expect(await desk.stateOf(approvalId)).toBe("open");
    },
  );

  test("while the service can't say who is there, a click changes nothing and says to try again", async () => {
    const desk = setUp({ isPresent: () => Promise.reject(new Error("rate_limited")) });
    const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
    const receipt = await desk.approvals.answer(click(cardId));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("Try again in a moment") });
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("a service that does not answer keeps a click waiting for a few seconds, and nobody else", async () => {
    const desk = setUp({
      policy: { approvers: ["requester", "user:ben"] },
      isPresent: (by) => (by.id === "ann" ? new Promise(() => {}) : Promise.resolve(true)),
    });
    const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
    const slow = desk.approvals.answer(click(cardId));
    expect((await desk.approvals.answer(click(cardId, { by: ben }))).accepted).toBe(true);
    expect(await slow).toMatchObject({ accepted: false, text: expect.stringContaining("Could not check") });
    expect(await desk.stateOf(approvalId)).toBe("approved");
  });

  test("a vote no longer counts when its person leaves before the call runs", async () => {
    const there = new Set(["ann", "ben"]);
    const desk = setUp({
      policy: { approvers: ["requester", "user:ben"], quorum: 2 },
      isPresent: async (by) => there.has(by.id),
    });
    const { approvalId, cardId } = await desk.ask("t1", call("c1"), channel);
    await desk.approvals.answer(click(cardId));
    there.delete("ann");
    expect((await desk.approvals.answer(click(cardId, { by: ben }))).accepted).toBe(true);
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({
      type: "refused",
      reason: expect.stringContaining("no longer counts"),
    });
  });

  test("in a direct message nobody is looked for, and a card asks the service once for each answer", async () => {
    const asked: string[] = [];
    const isPresent = async (by: typeof ann) => asked.push(by.id) > 0;
    const direct = setUp({ isPresent });
    expect((await direct.approvals.answer(click((await direct.ask()).cardId))).accepted).toBe(true);
    expect(asked).toEqual([]);
    const desk = setUp({ isPresent });
    expect((await desk.approvals.answer(click((await desk.ask("t1", call("c1"), channel)).cardId))).accepted).toBe(
      true,
    );
    expect(asked).toEqual(["ann"]);
  });
});
