/** Clicks that attack an approval: of people who may not answer, late, double and forged ones. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { fits } from "../../src/approvals/authority.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { AnswerChoice } from "../../src/ports/message.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ann, ben, call, click, folder, person, request, setUp } from "./approvals-fixture.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const path of folders.splice(0)) await rm(path, { recursive: true, force: true });
});

async function ledgerFile(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "approvals-"));
  folders.push(path);
  return join(path, "ledger.sqlite");
}

/** The same ledger, whose changes take longer or shorter, as over a network. */
function unevenly(ledger: Ledger): Ledger {
  let seed = 7;
  return {
    ...ledger,
    async transition(...step) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      for (let ticks = (seed >> 8) % 6; ticks > 0; ticks--) await new Promise((resolve) => setImmediate(resolve));
      return await ledger.transition(...step);
    },
  };
}

describe("clicks of people who may not answer", () => {
  test("anyone in the channel, a bot and a webhook get a refusal of their own, and nothing changes", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    const before = await desk.ledger.get("approval", approvalId);
    const stranger = await desk.approvals.answer(click(cardId, { by: ben }));
    expect(stranger).toEqual({ accepted: false, text: "Only Ann (who asked) can answer this." });
    const bot = await desk.approvals.answer(click(cardId, { by: person("ann", { isBot: true }) }));
    expect(bot).toEqual({ accepted: false, text: "Only people can answer approvals." });
    await desk.approvals.whenIdle();
    expect(await desk.ledger.get("approval", approvalId)).toEqual(before);
    expect([desk.woken, desk.shown, desk.heard]).toEqual([[], [], []]);
  });

  test("a person with the requester's id on another platform is another person", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    expect((await desk.approvals.answer(click(cardId, { platform: "other" }))).accepted).toBe(false);
    expect(await desk.stateOf(approvalId)).toBe("open");
    const rule = { approvers: ["requester"], quorum: 1, notRequester: false };
    const [here, there] = ["test", "other"].map((platform) => ({ platform, by: ann }));
    if (here === undefined || there === undefined) throw new Error("two people were made");
    expect([fits(rule, here, here, "approve"), fits(rule, there, here, "approve")]).toEqual([true, false]);
  });
});

describe("old, late and double clicks", () => {
  test("a click on a settled card shows how it was settled, also after a restart", async () => {
    const path = await ledgerFile();
    const before = setUp({}, createSqliteLedger({ path }));
    const { approvalId, cardId } = await before.ask();
    await before.approvals.answer(click(cardId, { choice: "deny", reason: "no" }));
    await before.ledger.close();
    const after = setUp({}, createSqliteLedger({ path }));
    const receipt = await after.approvals.answer(click(cardId));
    expect(receipt).toEqual({
      accepted: false,
      text: "Nothing left to answer. Ann denied `shell_exec`: “no” It did not run.",
    });
    expect(await after.stateOf(approvalId)).toBe("denied");
    await after.ledger.close();
  });

  test("a pending approval survives a restart and is answered by the new process", async () => {
    const path = await ledgerFile();
    const before = setUp({}, createSqliteLedger({ path }));
    const { approvalId, cardId } = await before.ask();
    await before.ledger.close();
    const after = setUp({}, createSqliteLedger({ path }));
    expect(await after.approvals.redeem(approvalId, call("c1"), folder)).toEqual({ type: "waiting" });
    expect((await after.approvals.answer(click(cardId))).accepted).toBe(true);
    expect(after.woken).toEqual(["t1"]);
    expect((await after.approvals.redeem(approvalId, call("c1"), folder)).type).toBe("approved");
    await after.ledger.close();
  });

  test("of 200 simultaneous clicks on one card exactly one decides, and everyone is told the same outcome", async () => {
    const desk = setUp({ policy: { approvers: ["role:ops"] } });
    const { card, approvalIds } = await desk.approvals.open(
      request("t1", [call("c1"), call("c2", { command: "rm b" }), call("c3", { command: "rm c" })]),
    );
    const clicks = Array.from({ length: 200 }, (_, index) => {
      const by = person(`p${index}`, { roles: ["ops"] });
      return desk.approvals.answer(click(card.id, { by, choice: index % 2 === 0 ? "deny" : "approve" }));
    });
    const receipts = await Promise.all(clicks);
    expect(receipts.filter((receipt) => receipt.accepted)).toHaveLength(1);
    const [state] = await Promise.all(approvalIds.map(desk.stateOf));
    expect(await Promise.all(approvalIds.map(desk.stateOf))).toEqual([state, state, state]);
    expect(new Set(receipts.filter((receipt) => !receipt.accepted).map((receipt) => receipt.text)).size).toBe(1);
    expect(desk.heard).toHaveLength(3);
  });

  test("approve all against deny all is never a mixture, however the ledger's answers are timed", async () => {
    const desk = setUp(
      { policy: { approvers: ["role:ops"], maxOpenCards: 1000 } },
      unevenly(createSqliteLedger({ path: ":memory:" })),
    );
    for (let round = 0; round < 20; round++) {
      const calls = [1, 2, 3].map((row) => call(`c${row}`, { command: `rm ${round} ${row}` }));
      const { card } = await desk.approvals.open(request(`t${round}`, calls));
      const clicks = Array.from({ length: 6 }, (_, index) => {
        const by = person(`p${index}`, { roles: ["ops"] });
        return desk.approvals.answer(click(card.id, { by, choice: index % 2 === 0 ? "deny" : "approve" }));
      });
      await Promise.all(clicks);
      const states = new Set((await desk.approvals.card(card.id))?.items.map((item) => item.state));
      expect(states.size).toBe(1);
    }
  });

  test("of 200 clicks through two processes on one ledger file, each row still has one decision and one event", async () => {
    const path = await ledgerFile();
    const policy = { approvers: ["role:ops"] };
    const desks = [createSqliteLedger({ path }), createSqliteLedger({ path })].map((ledger) =>
      setUp({ policy }, ledger),
    );
    const [one, other] = desks;
    if (one === undefined || other === undefined) throw new Error("two desks were made");
    const { approvalId, cardId } = await one.ask();
    const receipts = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const by = person(`p${index}`, { roles: ["ops"] });
        const choice: AnswerChoice = index % 3 === 0 ? "deny" : index % 3 === 1 ? "approve" : "allow";
        return (index % 2 === 0 ? one : other).approvals.answer(click(cardId, { by, choice }));
      }),
    );
    expect(receipts.filter((receipt) => receipt.accepted)).toHaveLength(1);
    const decisions = desks.flatMap((desk) => desk.heard).filter(({ name }) => name !== "safety.granted");
    expect(decisions).toHaveLength(1);
    expect(await other.stateOf(approvalId)).toMatch(/^(approved|denied)$/);
    await Promise.all(desks.map((desk) => desk.approvals.whenIdle()));
    await Promise.all(desks.map((desk) => desk.ledger.close()));
  });

  test("with a quorum, simultaneous clicks of one person are one vote", async () => {
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], quorum: 2 } });
    const { approvalId, cardId } = await desk.ask();
    const receipts = await Promise.all(Array.from({ length: 50 }, () => desk.approvals.answer(click(cardId))));
    expect(receipts.filter((receipt) => receipt.accepted)).toHaveLength(1);
    expect(await desk.stateOf(approvalId)).toBe("open");
  });
});

describe("forged clicks", () => {
  const ids: [string, (ids: { cardId: string; approvalId: string }) => string][] = [
    ["an unknown id", () => "AAAAAAAAAAAAAAAAAAAAAA"],
    ["nothing", () => ""],
    ["a member of every object", () => "__proto__"],
    ["a pattern", () => "%"],
    ["the turn's id", () => "t1"],
    ["the call's id", () => "c1"],
    ["an id in lower case", ({ cardId }) => cardId.toLowerCase().replace(/^./, "~")],
    ["an id with a blank", ({ cardId }) => `${cardId} `],
    ["half an id", ({ cardId }) => cardId.slice(0, 11)],
    ["two ids", ({ cardId, approvalId }) => `${cardId},${approvalId}`],
  ];
  test.each(ids)("%s is an unknown card", async (_what, forge) => {
    const desk = setUp();
    const asked = await desk.ask();
    const receipt = await desk.approvals.answer(click(forge(asked)));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("no longer valid") });
    expect(await desk.stateOf(asked.approvalId)).toBe("open");
  });

  test("a real id in another conversation is unknown, and so is one on another message once the card's is known", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    const unknown = { accepted: false, text: expect.stringContaining("no longer valid") };
    expect(await desk.approvals.answer(click(cardId, { conversationId: "test:C2" }))).toMatchObject(unknown);
    await desk.approvals.posted(cardId, "t1", "m7");
    await desk.approvals.posted(cardId, "t1", "m7");
    expect(await desk.approvals.answer(click(approvalId, { messageId: "m8" }))).toMatchObject(unknown);
    expect(await desk.stateOf(approvalId)).toBe("open");
    expect((await desk.approvals.answer(click(approvalId, { messageId: "m7" }))).accepted).toBe(true);
  });

  test("a platform that does not know its messages is not locked out", async () => {
    const desk = setUp();
    const { cardId } = await desk.ask();
    await desk.approvals.posted(cardId, "t1", "m7");
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(true);
  });

  test("a choice that does not exist does nothing", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    const choice = "approve_all" as AnswerChoice;
    expect((await desk.approvals.answer(click(cardId, { choice }))).accepted).toBe(false);
    expect(await desk.stateOf(approvalId)).toBe("open");
  });

  test("an id that is in no ledger redeems nothing, whatever a model writes", async () => {
    const desk = setUp();
    expect(await desk.approvals.redeem("", call("c1"), folder)).toMatchObject({ type: "refused" });
    expect(await desk.approvals.redeem("approved", call("c1"), folder)).toMatchObject({ type: "refused" });
  });
});
