/** Asking, answering, and how approvals end. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ann, asks, ben, call, click, conversationId, folder, request, setUp } from "./approvals-fixture.ts";

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
