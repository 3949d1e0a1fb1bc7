/** Every decision is recorded exactly once, whoever decided and whatever died in between. */
import { describe, expect, test } from "vitest";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ann, ben, call, click, conversationId, folder, hour, request, setUp } from "./approvals-fixture.ts";

const minute = 60_000;
const named = (desk: ReturnType<typeof setUp>) => desk.remembered.map(({ outcome, by }) => [outcome, by?.id]);

describe("the line of a decision", () => {
  test.each(["approve", "deny"] as const)("%s: who, when, and how long it had waited", async (choice) => {
    const desk = setUp();
    const { cardId, approvalId } = await desk.ask();
    desk.clock.now += minute;
    await desk.approvals.answer(click(cardId, { choice }));
    await desk.approvals.whenIdle();
    const outcome = choice === "approve" ? "approved" : "denied";
    const at = desk.clock.now;
    expect(desk.remembered).toMatchObject([
      { outcome, by: ann, at, waitedMs: minute, turnId: "t1", scope: "dm:ann", tool: "shell_exec" },
    ]);
    const hash = desk.approvals.hashOf(call("c1"), folder);
    const rules = [{ skill: "shell", pattern: "rm ", file: "/skills/shell/SKILL.md", line: 12, form: "exact" }];
    expect(desk.heard).toMatchObject([
      {
        name: `safety.${outcome}`,
        fields: { approvalId, callHash: hash, rules, by: "ann", decidedAt: at, waitedMs: minute },
      },
    ]);
  });

  test("expired and cancelled ones too, with nobody's name", async () => {
    const desk = setUp();
    await desk.ask("t1");
    await desk.ask("t2", call("c2", { command: "rm other" }));
    await desk.approvals.cancel("t2");
    desk.clock.now += hour;
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(named(desk)).toEqual([
      ["cancelled", undefined],
      ["expired", undefined],
    ]);
    expect(desk.heard.at(-1)).toMatchObject({ fields: { waitedMs: hour } });
  });

  test("one that was approved and expired before it ran has both", async () => {
    const desk = setUp();
    const { cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    desk.clock.now += hour;
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(named(desk)).toEqual([
      ["approved", "ann"],
      ["expired", undefined],
    ]);
  });

  test("what nobody may answer is denied by nobody, and what a grant covers is approved by who gave it", async () => {
    const closed = setUp({ policy: { approvers: [] } });
    await closed.ask();
    await closed.approvals.whenIdle();
    expect(named(closed)).toEqual([["denied", undefined]]);
    expect(closed.heard).toMatchObject([{ name: "safety.denied", fields: { by: "remora" } }]);

    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask("t1")).cardId, { choice: "allow" }));
    await desk.ask("t2", call("c2", { command: "rm other" }));
    await desk.approvals.whenIdle();
    expect(named(desk)).toEqual([
      ["approved", "ann"],
      ["granted", "ann"],
      ["approved", "ann"],
    ]);
    expect(desk.heard.at(-1)).toMatchObject({ fields: { grantIds: [expect.any(String)] } });
  });

  test("a revocation says who took the grant back", async () => {
    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask("t1")).cardId, { choice: "allow" }));
    const [grant] = await desk.approvals.listGrants();
    await desk.approvals.revokeGrant(grant?.id ?? "", conversationId, ben);
    await desk.approvals.revokeGrant(grant?.id ?? "", conversationId, ann);
    await desk.approvals.whenIdle();
    expect(named(desk).slice(-1)).toEqual([["revoked", "ben"]]);
    expect(desk.remembered.filter(({ outcome }) => outcome === "revoked")).toHaveLength(1);
    expect(desk.heard.at(-1)).toMatchObject({ name: "safety.revoked", fields: { by: "ben" } });
  });

  test("with a quorum the event names everyone who agreed", async () => {
    const desk = setUp({ policy: { approvers: ["user:ann", "user:ben"], quorum: 2 } });
    const { cardId } = await desk.ask();
    for (const by of [ann, ben]) await desk.approvals.answer(click(cardId, { by }));
    await desk.approvals.whenIdle();
    expect(desk.heard).toMatchObject([{ name: "safety.approved", fields: { by: "ben", voters: ["ann", "ben"] } }]);
    expect(named(desk)).toEqual([["approved", "ben"]]);
  });
});

describe("exactly once", () => {
  test("however often the card is told again", async () => {
    const desk = setUp();
    const { card } = await desk.approvals.open(request("t1", [call("a"), call("b", { command: "rm other" })]));
    for (const item of card.items) await desk.approvals.answer(click(item.approvalId, { choice: "deny" }));
    for (let round = 0; round < 3; round++) await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(named(desk)).toEqual([
      ["denied", "ann"],
      ["denied", "ann"],
    ]);
    expect(desk.names()).toEqual(["safety.denied", "safety.denied"]);
  });

  test("a process that dies before the line is on disk leaves it to the next one", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const dying = setUp({ remember: () => new Promise(() => {}) }, ledger);
    await dying.approvals.answer(click((await dying.ask()).cardId, { choice: "deny" }));
    const next = setUp({}, ledger);
    for (let round = 0; round < 3; round++) {
      await next.approvals.sweep(next.clock.now);
      await next.approvals.whenIdle();
    }
    expect(named(next)).toEqual([["denied", "ann"]]);
    expect(next.names()).toEqual(["safety.denied"]);
  });

  test("a disk that is full for a while costs no line, and the card is rewritten meanwhile, once", async () => {
    let isFull = true;
    const lines: string[] = [];
    const desk = setUp({
      async remember({ outcome }) {
        if (isFull) throw new Error("no space left on device");
        lines.push(outcome);
      },
    });
    await desk.approvals.answer(click((await desk.ask()).cardId, { choice: "deny" }));
    await desk.approvals.whenIdle();
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect([desk.shown.length, lines]).toEqual([1, []]);
    isFull = false;
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect([desk.shown.length, lines, desk.names()]).toEqual([1, ["denied"], ["safety.denied"]]);
  });

  test("a decision made days ago, while no agent ran, is recorded and wakes its turn", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const agent = setUp({ policy: { expiryMs: null } }, ledger);
    const { cardId } = await agent.ask();
    const desk = createDeskOfAnotherProcess(ledger);
    expect(await desk.approvals.decide({ cardOrApprovalId: cardId, choice: "approve" })).toMatchObject({
      accepted: true,
    });
    await desk.approvals.whenIdle();
    expect(desk.remembered).toEqual([]);
    const next = setUp({}, ledger);
    await next.approvals.sweep(Date.now() + 72 * hour);
    await next.approvals.whenIdle();
    expect(named(next)).toEqual([["approved", "operator"]]);
    expect(next.names()).toEqual(["safety.approved"]);
    expect([next.woken, next.shown.length]).toEqual([["t1"], 1]);
  });

  test("an agent that sweeps while another process is in the middle of a decision does not lose it", async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    const agent = setUp({}, ledger);
    const { cardId } = await agent.ask();
    const slow: typeof ledger = {
      ...ledger,
      async create(kind, id, entry) {
        const made = await ledger.create(kind, id, entry);
        // The notice is there, the change is not: now the agent looks, and finds nothing to tell.
        if (kind === "notice") {
          await agent.approvals.sweep(agent.clock.now);
          await agent.approvals.whenIdle();
        }
        return made;
      },
    };
    await createDeskOfAnotherProcess(slow).approvals.decide({ cardOrApprovalId: cardId, choice: "deny" });
    expect(agent.woken).toEqual([]);
    await agent.approvals.sweep(agent.clock.now);
    await agent.approvals.whenIdle();
    expect(agent.woken).toEqual(["t1"]);
    expect(named(agent)).toEqual([["denied", "operator"]]);
  });
});

/** As the command line has it: it settles, and leaves showing, recording and waking to the agent. */
function createDeskOfAnotherProcess(ledger: Parameters<typeof setUp>[1]) {
  return setUp({ onSettled: undefined }, ledger);
}
