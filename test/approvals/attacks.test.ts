/** Attacks on approvals that need no platform, other than by clicks (attack-clicks.test.ts). */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Author } from "../../src/ports/message.ts";
import { createCardWriter } from "../../src/response/card-writer.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import {
  ann,
  asks,
  ben,
  call,
  click,
  conversationId,
  folder,
  hour,
  person,
  request,
  setUp,
} from "./approvals-fixture.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const path of folders.splice(0)) await rm(path, { recursive: true, force: true });
});

async function ledgerFile(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "approvals-"));
  folders.push(path);
  return join(path, "ledger.sqlite");
}

describe("stale approvals", () => {
  test("a click in the very millisecond of the expiry is late, before any sweep has run", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    desk.clock.now += hour;
    const receipt = await desk.approvals.answer(click(cardId));
    expect(receipt).toEqual({
      accepted: false,
      text: "Nothing left to answer. Nobody answered in time: `shell_exec` for Ann. It did not run.",
    });
    expect(await desk.stateOf(approvalId)).toBe("expired");
    expect(desk.woken).toEqual(["t1"]);
  });

  test("what was approved in time but is run after its expiry is not run", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    desk.clock.now += hour - 1;
    await desk.approvals.answer(click(cardId));
    desk.clock.now += 1;
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toEqual({ type: "refused", state: "expired" });
    await desk.approvals.whenIdle();
    expect(desk.shown.at(-1)?.items[0]?.outcome).toBe(
      "Ann approved `shell_exec`, but it expired first. It did not run.",
    );
  });

  test("a clock set back brings nothing back, and makes nobody wait a negative time", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    const other = await desk.ask("t2", call("c1", { command: "rm z" }));
    desk.clock.now += hour;
    await desk.approvals.answer(click(cardId));
    desk.clock.now -= 10 * hour;
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(false);
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ state: "expired" });
    expect((await desk.approvals.answer(click(other.cardId))).accepted).toBe(true);
    expect(desk.heard.at(-1)).toMatchObject({ name: "safety.approved", fields: { waitedMs: 0 } });
  });

  test("a clock set forward expires what waits, never approves it", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    desk.clock.now += 1000 * 24 * hour;
    await desk.approvals.sweep(desk.clock.now);
    expect(await desk.stateOf(approvalId)).toBe("expired");
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(false);
  });
});

describe("approved once", () => {
  test("is not run for another call, and asking again for the same call says the same", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => desk.approvals.redeem(approvalId, call("c1"), folder)),
    );
    expect(new Set(asked.map((outcome) => outcome.type))).toEqual(new Set(["approved"]));
    const others = [
      call("c2"),
      call("c1", { command: "rm other" }),
      call("c1", { command: "rm notes.txt" }, "mail_send"),
    ];
    for (const other of others) {
      expect(await desk.approvals.redeem(approvalId, other, folder)).toMatchObject({ type: "refused" });
    }
    expect(await desk.approvals.redeem(approvalId, call("c1"), "/elsewhere")).toMatchObject({ type: "refused" });
    expect(await desk.stateOf(approvalId)).toBe("consumed");
  });

  test("after a crash between consuming and running, the gate still has the last word; once it was queued, the queue has", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    await desk.approvals.redeem(approvalId, call("c1"), folder);
    desk.rules.block = /rm /;
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
    const body = { turnId: "t1", callId: "c1", name: "shell_exec", attempts: 1, startedAt: 1 };
    await desk.ledger.create("call", "t1-c1", { state: "started", body, group: "t1" });
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "approved" });
  });
});

describe("what changes between approval and execution", () => {
  const changes: [string, Parameters<ReturnType<typeof setUp>["approvals"]["redeem"]>[1], string][] = [
    ["the arguments", call("c1", { command: "rm -rf /" }), folder],
    ["an added argument", call("c1", { command: "rm notes.txt", force: true }), folder],
    ["the tool", call("c1", { command: "rm notes.txt" }, "shell_exec2"), folder],
    ["the call's id", call("c9"), folder],
    ["the working folder", call("c1"), "/etc"],
  ];
  test.each(changes)("%s: not run, and the approval is gone", async (_what, changed, where) => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    expect(await desk.approvals.redeem(approvalId, changed, where)).toMatchObject({
      type: "refused",
      state: "cancelled",
    });
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
    expect(desk.names()).toEqual(["safety.approved", "safety.cancelled"]);
  });

  test("the order of keys is no change", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask("t1", call("c1", { command: "rm x", options: { a: 1, b: 2 } }));
    await desk.approvals.answer(click(cardId));
    const reordered = call("c1", { options: { b: 2, a: 1 }, command: "rm x" });
    expect((await desk.approvals.redeem(approvalId, reordered, folder)).type).toBe("approved");
  });

  test("the skill's file: not run", async () => {
    let version = "1";
    const desk = setUp({ skillFile: () => version });
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    version = "2";
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ state: "cancelled" });
  });

  test("the stored call itself, by someone with the ledger file in hand: not run", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    const forged = call("c1", { command: "rm -rf /" });
    await desk.ledger.transition("approval", approvalId, ["approved"], "approved", (body) => ({
      ...body,
      call: forged,
    }));
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
  });

  test("a rule that blocks it by now wins over the approval", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    desk.rules.block = /notes/;
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toMatchObject({ state: "cancelled", reason: expect.stringContaining("safety rules of shell") });
    await desk.approvals.whenIdle();
    expect(desk.shown.at(-1)?.items[0]?.outcome).toContain("Cancelled: `shell_exec`. It did not run. The safety rules");
  });

  const people: [string, () => Promise<Author | undefined>][] = [
    ["loses the role", async () => person("cleo")],
    ["is gone", async () => undefined],
    ["has become somebody else", async () => person("dan", { roles: ["ops"] })],
    ["turns out to be a bot", async () => person("cleo", { roles: ["ops"], isBot: true })],
    ["can't be looked up", () => Promise.reject(new Error("platform is away"))],
  ];
  test.each(people)("the approver %s: not run", async (_what, later) => {
    let authority = async (by: Author): Promise<Author | undefined> => by;
    const desk = setUp({ policy: { approvers: ["role:ops"] }, authority: (by) => authority(by) });
    const { approvalId, cardId } = await desk.ask();
    const by = person("cleo", { roles: ["ops"] });
    expect((await desk.approvals.answer(click(cardId, { by }))).accepted).toBe(true);
    authority = later;
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toMatchObject({ state: "cancelled", reason: expect.stringContaining("Cleo") });
  });

  test("the configuration no longer lists the approver: neither their click nor their approval counts", async () => {
    const policy = { approvers: ["user:ben"] };
    const desk = setUp({ policy });
    const approved = await desk.ask("t1");
    const waiting = await desk.ask("t2", call("c1", { command: "rm z" }));
    await desk.approvals.answer(click(approved.cardId, { by: ben }));
    policy.approvers = ["user:cleo"];
    expect(await desk.approvals.redeem(approved.approvalId, call("c1"), folder)).toMatchObject({ state: "cancelled" });
    expect((await desk.approvals.answer(click(waiting.cardId, { by: ben }))).accepted).toBe(false);
  });

  test("one of a quorum loses the role: not run", async () => {
    const gone = new Set<string>();
    const authority = async (by: Author) => (gone.has(by.id) ? undefined : by);
    const desk = setUp({ policy: { approvers: ["requester", "user:ben"], quorum: 2 }, authority });
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.answer(click(cardId));
    await desk.approvals.answer(click(cardId, { by: ben }));
    gone.add("ann");
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ state: "cancelled" });
  });
});

describe("cards that can't be shown or rewritten", () => {
  test("a card that can't be posted is cancelled with its reason, and stays so", async () => {
    const desk = setUp();
    const { approvalId, cardId } = await desk.ask();
    await desk.approvals.cancel("t1", "The card could not be shown to anyone (no-route).");
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(false);
    const outcome = await desk.approvals.redeem(approvalId, call("c1"), folder);
    expect(outcome).toMatchObject({ state: "cancelled", reason: expect.stringContaining("no-route") });
  });

  test("a platform that is away while a card is settled shows it at a later sweep; the click does not wait for it", async () => {
    let isAway = true;
    const outcomes: (string | undefined)[] = [];
    const desk = setUp({
      onSettled: async (card) => {
        if (isAway) throw new Error("platform is away");
        outcomes.push(card.items[0]?.outcome);
      },
    });
    const { cardId } = await desk.ask();
    expect((await desk.approvals.answer(click(cardId))).accepted).toBe(true);
    await desk.approvals.whenIdle();
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(outcomes).toEqual([]);
    isAway = false;
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect(outcomes).toEqual(["Ann approved `shell_exec`"]);
  });

  test("a settled card that another process is writing waits for a later sweep, without a warning", async () => {
    const leases = createInMemoryLeases();
    const warned: string[] = [];
    const shown: string[] = [];
    const desk: ReturnType<typeof setUp> = setUp({
      onSettled: (card) =>
        createCardWriter({ leases, cardNow: desk.approvals.card }).settle(card, async ({ items }) => {
          shown.push(items.map(({ state }) => state).join());
        }),
      log: { ...silentLog, warn: (_, text) => warned.push(text) },
    });
    const { cardId } = await desk.ask();
    const other = await leases.acquire(`card:t1:${cardId}`);
    await desk.approvals.answer(click(cardId));
    await desk.approvals.whenIdle();
    expect([shown, warned]).toEqual([[], []]);
    await other?.release();
    await desk.approvals.sweep(desk.clock.now);
    await desk.approvals.whenIdle();
    expect([shown, warned]).toEqual([["approved"], []]);
  });

  test("a process that dies between the decision and the rewriting leaves it to the next one, which also wakes the turn", async () => {
    const path = await ledgerFile();
    const dying = setUp({ onSettled: () => new Promise(() => {}), wake: () => {} }, createSqliteLedger({ path }));
    const { cardId } = await dying.ask();
    await dying.approvals.answer(click(cardId, { choice: "deny" }));
    await dying.ledger.close();
    const next = setUp({}, createSqliteLedger({ path }));
    await next.approvals.sweep(next.clock.now);
    await next.approvals.whenIdle();
    expect(next.shown.map((card) => card.items[0]?.outcome)).toEqual(["Ann denied `shell_exec`. It did not run."]);
    expect(next.woken).toEqual(["t1"]);
    await next.ledger.close();
  });

  test("what is shown last is the latest state, however slow the platform is", async () => {
    const waits: (() => void)[] = [];
    const seen: string[] = [];
    let isSlow = true;
    const desk = setUp({
      onSettled: async (card) => {
        if (isSlow) await new Promise<void>((resolve) => waits.push(resolve));
        seen.push(card.items.map((item) => item.state).join());
      },
    });
    const { card, approvalIds } = await desk.approvals.open(
      request("t1", [call("c1"), call("c2", { command: "rm b" })]),
    );
    for (const id of approvalIds) await desk.approvals.answer(click(id));
    await expect.poll(() => waits.length).toBe(1);
    isSlow = false;
    waits[0]?.();
    await desk.approvals.whenIdle();
    expect(seen.at(-1)).toBe("approved,approved");
    expect((await desk.approvals.card(card.id))?.items).toHaveLength(2);
  });
});

describe("grants", () => {
  const allow = { choice: "allow" } as const;

  test("allow approves this call, shows the rule that is saved, and what only that rule asks about runs unasked for 30 minutes", async () => {
    const desk = setUp();
    const { card, cardId, approvalId } = await desk.ask();
    expect(card.items[0]?.grantText).toBe(
      "For 30 minutes, Remora won't ask again here when a call for Ann only removes files.",
    );
    expect((await desk.approvals.answer(click(cardId, allow))).text).toContain("30 minutes");
    expect(await desk.stateOf(approvalId)).toBe("approved");
    const next = await desk.ask("t2", call("c1", { command: "rm other" }));
    expect(next.card.items[0]).toMatchObject({
      state: "approved",
      outcome: "Ann had allowed `shell_exec` in advance",
      choices: [],
    });
    const outcome = await desk.approvals.redeem(next.approvalId, call("c1", { command: "rm other" }), folder);
    expect(outcome).toMatchObject({ type: "approved", by: ann });
    const [grant] = await desk.approvals.listGrants(conversationId);
    expect(grant).toMatchObject({ skill: "shell", pattern: "rm ", by: ann });
    expect(desk.names()).toEqual(["safety.approved", "safety.granted", "safety.approved"]);
    expect(desk.heard.at(-1)).toMatchObject({ fields: { grantIds: [grant?.id], waitedMs: 0 } });
    desk.clock.now += 30 * 60 * 1000;
    expect((await desk.ask("t3", call("c1", { command: "rm last" }))).card.items[0]?.state).toBe("open");
    expect(await desk.approvals.listGrants()).toEqual([]);
  });

  test("a grant covers nobody else's calls where they would be asked themselves, no other conversation, no other rule", async () => {
    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask()).cardId, allow));
    const other = { platform: "test", conversationId: "test:C2", turnId: "t3", messageId: "m" };
    const calls = [{ call: call("c1"), matches: [asks, { ...asks, pattern: "notes" }] }];
    const asked = [
      await desk.ask("t2", call("c1"), { requester: ben }),
      await desk.ask("t3", call("c1"), { target: other }),
      await desk.ask("t4", call("c1"), { calls }),
      await desk.ask("t5", call("c1"), { calls: [{ call: call("c1"), matches: [{ ...asks, skill: "files" }] }] }),
    ];
    expect(asked.map(({ card }) => card.items[0]?.state)).toEqual(["open", "open", "open", "open"]);
  });

  test("a grant of a listed approver holds for the person it was given for, for as long as the giver is listed", async () => {
    const policy = { approvers: ["user:ben"] };
    const desk = setUp({ policy });
    await desk.approvals.answer(click((await desk.ask()).cardId, { ...allow, by: ben }));
    const covered = await desk.ask("t2");
    expect(covered.card.items[0]?.state).toBe("approved");
    const bens = await desk.ask("t2b", call("c9"), { requester: person("cy") });
    expect(bens.card.items[0]?.state).toBe("open");
    policy.approvers = ["user:cleo"];
    expect((await desk.ask("t3")).card.items[0]?.state).toBe("open");
    expect(await desk.approvals.redeem(covered.approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
  });

  test("a revoked grant asks again, and what it had let through but has not run does not run", async () => {
    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask()).cardId, allow));
    const covered = await desk.ask("t2");
    const [grant] = await desk.approvals.listGrants();
    expect((await desk.approvals.revokeGrant(grant?.id ?? "", "test:C2")).accepted).toBe(false);
    expect((await desk.approvals.revokeGrant(grant?.id ?? "", conversationId)).accepted).toBe(true);
    expect((await desk.approvals.revokeGrant(grant?.id ?? "")).accepted).toBe(false);
    expect(await desk.approvals.redeem(covered.approvalId, call("c1"), folder)).toMatchObject({ state: "cancelled" });
    expect((await desk.ask("t3")).card.items[0]?.state).toBe("open");
    expect(desk.names()).toContain("safety.revoked");
  });

  test("block wins over a grant", async () => {
    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask()).cardId, allow));
    const covered = await desk.ask("t2");
    desk.rules.block = /notes/;
    expect(await desk.approvals.redeem(covered.approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
  });

  test("what the gate asks about by itself can't be granted", async () => {
    const desk = setUp();
    const calls = [{ call: call("c1"), matches: [{ ...asks, file: "", line: 0, form: "fail-closed" }] }];
    const { card, cardId } = await desk.ask("t1", call("c1"), { calls });
    expect(card.items[0]?.choices).toEqual(["approve", "deny", "edit", "why"]);
    expect((await desk.approvals.answer(click(cardId, allow))).accepted).toBe(false);
    expect(await desk.approvals.listGrants()).toEqual([]);
  });

  test("allowing the same again prolongs the grant, and a late allow gives none", async () => {
    const desk = setUp();
    const first = await desk.ask("t1");
    const second = await desk.ask("t2", call("c1", { command: "rm b" }));
    const third = await desk.ask("t3", call("c1", { command: "rm c" }));
    await desk.approvals.answer(click(first.cardId, allow));
    desk.clock.now += 1_000;
    await desk.approvals.answer(click(second.cardId, allow));
    const grants = await desk.approvals.listGrants();
    expect(grants).toMatchObject([{ expiresAt: desk.clock.now + 30 * 60 * 1000 }]);
    await desk.approvals.revokeGrant(grants[0]?.id ?? "");
    await desk.approvals.answer(click(third.cardId, { choice: "deny" }));
    expect((await desk.approvals.answer(click(third.cardId, allow))).accepted).toBe(false);
    expect(await desk.approvals.listGrants()).toEqual([]);
  });

  test("a grant lasts no longer when the clock is set back: until it was given, people are asked", async () => {
    const desk = setUp();
    await desk.approvals.answer(click((await desk.ask()).cardId, allow));
    expect((await desk.ask("t2")).card.items[0]?.state).toBe("approved");
    desk.clock.now -= 3 * hour;
    expect((await desk.ask("t3")).card.items[0]?.state).toBe("open");
    expect(await desk.approvals.listGrants()).toEqual([]);
  });

  test("grants survive a restart, and the sweep clears those that ran out", async () => {
    const path = await ledgerFile();
    const before = setUp({}, createSqliteLedger({ path }));
    await before.approvals.answer(click((await before.ask()).cardId, allow));
    await before.approvals.whenIdle();
    await before.ledger.close();
    const after = setUp({}, createSqliteLedger({ path }));
    expect((await after.ask("t2")).card.items[0]?.state).toBe("approved");
    await after.approvals.sweep(after.clock.now + hour);
    expect(await after.ledger.list("grant", { states: ["active"] })).toEqual([]);
    await after.approvals.whenIdle();
    await after.ledger.close();
  });
});

describe("changes that several people asked for", () => {
  test("with notRequester none of them may approve: nobody becomes a second pair of eyes by speaking last", async () => {
    const desk = setUp({ policy: { approvers: ["user:ann", "user:ben", "user:cy"], notRequester: true } });
    const { approvalId, cardId } = await desk.ask("t1", call("c1"), { alsoAsked: ["ben"] });
    for (const by of [ann, ben]) {
      expect(await desk.approvals.answer(click(cardId, { by }))).toMatchObject({ accepted: false });
    }
    expect(await desk.approvals.answer(click(cardId, { by: person("cy") }))).toMatchObject({ accepted: true });
    expect(await desk.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "approved" });
  });

  test("and no grant of one of them covers them", async () => {
    const desk = setUp({ policy: { approvers: ["user:ann", "user:ben"], notRequester: true } });
    const first = await desk.ask("t1");
    expect(await desk.approvals.answer(click(first.cardId, { by: ben, choice: "allow" }))).toMatchObject({
      accepted: true,
    });
    const second = await desk.ask("t2", call("c2", { command: "rm other" }), { alsoAsked: ["ben"] });
    expect(await desk.stateOf(second.approvalId)).toBe("open");
  });
});
