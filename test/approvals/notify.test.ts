/** Who is told about a card, and what becomes of it when people can't be reached. */
import { expect, test } from "vitest";
import type { ApprovalsOptions } from "../../src/approvals/context.ts";
import type { NotifyOptions } from "../../src/approvals/notify/options.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import type { ApprovalRequest } from "../../src/ports/approval.ts";
import { type ApprovalCard, noteText } from "../../src/ports/card.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Author, InboundMessage } from "../../src/ports/message.ts";
import { createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createRepeats, notAnyMore } from "../doubles/repeats.ts";
import { ann, ben, call, click, conversationId, folder, hour, person, request, setUp } from "./approvals-fixture.ts";

const channel = { scope: "channel:ops" } as const;

interface World {
  /** By id; absent: left. */
  people: Record<string, { isHere?: boolean; isBot?: boolean }>;
  closed?: string[];
  isDown?: boolean;
  isRepeatRefused?: boolean;
}

function desk(
  world: World,
  changes: Partial<ApprovalsOptions> = {},
  notify: Partial<NotifyOptions> = {},
  ledger?: Ledger,
) {
  const posted: ApprovalCard[] = [];
  const said: { to: string; key: string; text: string; mentions: string[] }[] = [];
  const accepted: InboundMessage[] = [];
  const asked: string[][] = [];
  const options: NotifyOptions = {
    where: "thread",
    atMost: 5,
    leases: createInMemoryLeases(),
    serves: async () => true,
    reach: () => ({
      async people(ids) {
        asked.push([...ids]);
        if (world.isDown === true) throw new Error("unreachable");
        const there = ids.filter((id) => world.people[id] !== undefined);
        return there.map((id) => ({ id, name: person(id).name, isBot: false, isHere: true, ...world.people[id] }));
      },
      roleName: async (id) => id,
      async direct(id) {
        if (world.closed?.includes(id) === true)
          throw new RemoraError({ code: "test.closed", place: "test", message: "can't write to them" });
        return `test:dm:${id}`;
      },
      place: async () => ({ name: "#general", link: "https://chat.example/1" }),
    }),
    post: async (card) => {
      posted.push(card);
      await made.approvals.posted(card.id, card.target.turnId, `copy-${card.target.turnId}`);
    },
    say: async ({ conversationId: to }, { key, line }) => {
      const mentions = line.flatMap((part) =>
        typeof part === "string" ? [] : "userId" in part ? part.userId : part.roleId,
      );
      if (said.every((one) => one.key !== key || one.to !== to)) said.push({ to, key, text: noteText(line), mentions });
    },
    ...notify,
  };
  const repeats = createRepeats(accepted, () => world.isRepeatRefused === true);
  const made = setUp({ notify: options, repeats, ...changes }, ledger);
  return {
    ...made,
    ...{ posted, said, accepted, asked },
    async askAndPost(turnId = "t1", more: Partial<ApprovalRequest> = {}) {
      const asked = await made.ask(turnId, call("c1"), more);
      await made.approvals.posted(asked.cardId, turnId, `message-${turnId}`);
      await made.approvals.whenIdle();
      return asked;
    },
    async sweep() {
      await made.approvals.sweep(made.clock.now);
      await made.approvals.whenIdle();
    },
  };
}

const approvers = (...ids: string[]) => ({ policy: { approvers: ids.map((id) => `user:${id}`) } });

test("nobody is told if the asker may approve alone, and the others are if several must approve", async () => {
  const alone = desk({ people: { ben: {} } }, { policy: { approvers: ["requester", "user:ben"] } });
  const own = await alone.askAndPost();
  expect(own.card.notify).toBeUndefined();
  expect(own.card.approversText).toBe("Ann (who asked) or Ben can answer");
  const both = desk({ people: { ben: {} } }, { policy: { approvers: ["requester", "user:ben"], quorum: 2 } });
  const { card } = await both.askAndPost();
  expect(card.notify).toMatchObject({ userIds: ["ben"], text: "Waiting for Ben." });
});

test("an asker who is listed by id may approve alone, or is left out and the others are told", async () => {
  const people = { ann: {}, ben: {}, cara: {} };
  const listed = ["user:ann", "user:test:ben", "user:other:dora"];
  const alone = await desk({ people }, { policy: { approvers: listed } }).askAndPost();
  expect(alone.card.notify).toBeUndefined();
  expect(alone.card.approversText).toBe("Ann (who asked) or Ben can answer");
  const made = desk({ people }, { policy: { approvers: [...listed, "user:cara"], notRequester: true, quorum: 2 } });
  const { card, approvalId } = await made.askAndPost();
  expect(card.notify).toMatchObject({ userIds: ["ben", "cara"] });
  expect(card.approversText).toBe("2 of these must approve: Ben or Cara");
  expect(await made.approvals.answer(click(approvalId, { by: ann }))).toEqual({
    accepted: false,
    text: "You asked for this, so somebody else must approve it. Only Ben or Cara can answer this.",
  });
  await made.approvals.answer(click(approvalId, { by: ben }));
  expect((await made.approvals.card(card.id))?.approversText).toBe("Cara can answer");
});

test("with a role, the asker is left out in words, and without a look-up ids are better than nothing", async () => {
  const policy = { approvers: ["role:ops", "user:ann", "user:ben"], notRequester: true };
  const { card } = await desk({ people: { ben: {} } }, { policy }).askAndPost();
  expect(card.approversText).toBe("anyone else in ops or Ben can answer");
  const down = await desk(
    { people: {}, isDown: true },
    { policy: { approvers: ["requester", "user:ben"] } },
  ).askAndPost();
  expect(down.card.approversText).toBe("Ann (who asked) or user ben can answer");
});

test("a vote from the dashboard is not the vote of somebody with the same id in the chat", async () => {
  const policy = { approvers: ["user:ben", "user:account:ben"], quorum: 2 };
  const made = desk({ people: { ben: {} } }, { policy });
  const { card, approvalId } = await made.askAndPost();
  expect(card.approversText).toBe("2 of these must approve: Ben or ben (on the dashboard)");
  const decision = { cardOrApprovalId: approvalId, choice: "approve" as const };
  await made.approvals.decideAs({ platform: "account", by: ben }, decision);
  const after = await made.approvals.card(card.id);
  expect([after?.approversText, after?.notify?.userIds]).toEqual(["Ben can answer", ["ben"]]);
});

test("of fifty approvers, the first five are told, and the card says how many others can answer", async () => {
  const ids = Array.from({ length: 50 }, (_, index) => `p${index}`);
  const people = Object.fromEntries(ids.map((id) => [id, {}]));
  const { card } = await desk({ people }, approvers(...ids)).askAndPost();
  expect(card.notify?.userIds).toEqual(ids.slice(0, 5));
  expect(card.notify?.text).toBe("Waiting for P0, P1, P2, P3 or P4. 45 others may answer too.");
  expect(card.approversText).toBe("P0, P1, P2, P3, P4, P5, P6, P7, P8, P9 or 40 others can answer");
});

test("a role counts as one and is mentioned", async () => {
  const policy = { approvers: ["role:ops", "user:ben", "user:cara"] };
  const { card } = await desk({ people: { ben: {}, cara: {} } }, { policy }, { atMost: 2 }).askAndPost();
  expect(card.notify).toMatchObject({ userIds: ["ben"], roleIds: ["ops"] });
  expect(card.notify?.text).toBe("Waiting for Ben or @ops. One other person may answer too.");
});

test("those who have left and bots are skipped, and others take their place", async () => {
  const world = { people: { bot: { isBot: true }, cara: {}, dora: {} } };
  const { card } = await desk(world, approvers("gone", "bot", "cara", "dora"), { atMost: 1 }).askAndPost();
  expect(card.notify?.userIds).toEqual(["cara"]);
});

test("if everyone who may approve has left, the call is refused and says so", async () => {
  const made = desk({ people: {} }, approvers("gone"));
  const { card, approvalId } = await made.askAndPost();
  expect(await made.stateOf(approvalId)).toBe("denied");
  expect(card.items[0]?.outcome).toContain("everyone who may approve it has left");
});

test("if the service can't say who is where, everybody is mentioned, and nothing is refused", async () => {
  const made = desk({ people: {}, isDown: true }, approvers("ben", "cara"));
  const { card, approvalId } = await made.askAndPost();
  expect(card.notify?.userIds).toEqual(["ben", "cara"]);
  expect(await made.stateOf(approvalId)).toBe("open");
});

test("with `dm` nobody is mentioned, with `both` everybody is, and with `off` nobody is told", async () => {
  const people = { ben: {} };
  const dm = desk({ people }, approvers("ben"), { where: "dm" });
  expect((await dm.askAndPost()).card.notify?.userIds).toEqual([]);
  expect(dm.posted.map(({ target }) => target.conversationId)).toEqual(["test:dm:ben"]);
  const both = desk({ people }, approvers("ben"), { where: "both" });
  expect((await both.askAndPost()).card.notify?.userIds).toEqual(["ben"]);
  expect(both.posted).toHaveLength(1);
  const off = desk({ people }, approvers("ben"), { where: "off" });
  expect((await off.askAndPost()).card.notify).toBeUndefined();
  expect(off.posted).toEqual([]);
});

test("a copy says who asks and where, counts like the card, and a forged place does not", async () => {
  const made = desk({ people: { ben: { isHere: false }, cara: {} } }, approvers("ben", "cara"));
  const { approvalId } = await made.askAndPost();
  const [copy] = made.posted;
  expect(copy?.copy).toEqual({
    text: "Ann needs an answer from you or Cara in #general.",
    link: "https://chat.example/1",
  });
  expect(copy?.notify).toBeUndefined();
  const at = { conversationId: "test:dm:ben" };
  const other = await made.approvals.answer(click(approvalId, { by: ben, ...at, messageId: "another" }));
  const elsewhere = await made.approvals.answer(click(approvalId, { by: ben, conversationId: "test:dm:cara" }));
  expect([other.accepted, elsewhere.accepted]).toEqual([false, false]);
  expect(await made.approvals.answer(click(approvalId, { by: ann, ...at }))).toMatchObject({ accepted: false });
  const own = click(approvalId, { by: ben, ...at, messageId: `copy-${copy?.target.turnId}` });
  expect(await made.approvals.answer(own)).toMatchObject({ accepted: true });
  await made.approvals.whenIdle();
  const targets = made.shown.map(({ target }) => target.conversationId);
  expect(new Set(targets)).toEqual(new Set([conversationId, "test:dm:ben"]));
});

test("somebody whose direct messages are closed is mentioned instead, once", async () => {
  const made = desk({ people: { ben: { isHere: false } }, closed: ["ben"] }, approvers("ben"));
  await made.askAndPost();
  await made.sweep();
  expect(made.posted).toEqual([]);
  expect(made.said).toMatchObject([{ to: conversationId, mentions: ["ben"] }]);
  expect(made.said[0]?.text).toContain("I couldn't send you a direct message");
});

test("one reminder at half-time, for those who have not voted, and none without an expiry", async () => {
  const made = desk({ people: { ben: {}, cara: {} } }, { policy: { approvers: ["user:ben", "user:cara"], quorum: 2 } });
  const { approvalId } = await made.askAndPost();
  await made.approvals.answer(click(approvalId, { by: ben }));
  await made.sweep();
  expect(made.said).toEqual([]);
  made.clock.now += hour / 2;
  await made.sweep();
  made.clock.now += hour / 4;
  await made.sweep();
  expect(made.said).toMatchObject([{ mentions: ["cara"] }]);
  expect(made.said[0]?.text).toMatch(/^Cara: still waiting for your answer\..* expires in 30 minutes\.$/);
  const forever = desk({ people: { ben: {} } }, { policy: { approvers: ["user:ben"], expiryMs: null } });
  await forever.askAndPost();
  forever.clock.now += 100 * hour;
  await forever.sweep();
  expect(forever.said).toEqual([]);
});

test("an expiry is told once, and only the requester and approvers can ask again, once", async () => {
  const world: World = { people: { ben: {} } };
  const made = desk(world, approvers("ben"));
  const { approvalId, cardId } = await made.askAndPost();
  await made.ledger.create("turn", "t1", { state: "parked", body: turnOf("t1"), group: conversationId });
  made.clock.now += hour;
  await made.sweep();
  await made.sweep();
  const told = made.said.filter(({ text }) => text.includes("obody answered"));
  expect(told).toHaveLength(1);
  expect((await made.approvals.card(cardId))?.items[0]?.choices).toEqual(["reask"]);
  const reask = (by = ann) => made.approvals.answer(click(approvalId, { by, choice: "reask" }));
  expect(await reask(person("dora"))).toMatchObject({ accepted: false });
  world.isRepeatRefused = true;
  expect(await reask()).toMatchObject({ accepted: false, text: notAnyMore });
  world.isRepeatRefused = false;
  expect(await reask()).toMatchObject({ accepted: true });
  expect((await reask(ben)).text).toContain("Ann has already asked again");
  expect(made.accepted).toMatchObject([{ author: { id: "ann" }, askAgain: [approvalId] }]);
});

test("a card can be handed to those who may approve, once each, and not to others", async () => {
  const world = { people: { ben: {}, cara: { isHere: false }, dora: {}, bot: { isBot: true } } };
  const made = desk(world, approvers("ben", "cara", "bot"));
  const { approvalId } = await made.askAndPost();
  const hand = (to: string, by = ben) => made.approvals.answer(click(approvalId, { by, choice: "handover", to }));
  for (const to of ["dora", "bot", "gone", "ben", ""]) expect(await hand(to), to).toMatchObject({ accepted: false });
  expect(await hand("cara", ann)).toMatchObject({ accepted: false });
  expect(made.audit.lines.map(({ name }) => name)).not.toContain("approval.handed-over");
  expect(await hand("cara")).toMatchObject({ accepted: true });
  expect(await hand("cara")).toMatchObject({ accepted: false });
  expect(made.names()).toContain("safety.handed-over");
  await made.approvals.whenIdle();
  const shown = made.shown.findLast(({ target }) => target.conversationId === conversationId);
  expect(shown?.notify?.text).toContain("Ben handed this to Cara.");
});

test("a second turn that shows the same card does not mention anybody again", async () => {
  const made = desk({ people: { ben: {} } }, approvers("ben"));
  const first = await made.approvals.open(request("t1", [call("c1")]));
  const second = await made.approvals.open(request("t2", [call("c2")]));
  expect(second.card.id).toBe(first.card.id);
  expect(first.card.notify?.userIds).toEqual(["ben"]);
  expect(second.card.notify?.userIds).toEqual([]);
});

test("after a restart, everything that is due is done once", async () => {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const before = desk({ people: { ben: { isHere: false } } }, approvers("ben"), { reach: () => undefined }, ledger);
  const { cardId } = await before.askAndPost();
  expect(before.posted).toEqual([]);
  // The plan of a process without the platform mentions everybody, so write one that has a copy to send.
  await ledger.transition("card", cardId, ["made"], "made", (card) => ({
    ...card,
    notify: { decidedAt: 0, roles: [], others: 0, people: [{ id: "ben", name: "Ben", isMentioned: false, copy: {} }] },
  }));
  const after = desk({ people: { ben: { isHere: false } } }, approvers("ben"), {}, ledger);
  after.clock.now = before.clock.now;
  await after.sweep();
  await after.sweep();
  expect(after.posted).toHaveLength(1);
});

test("open cards of earlier versions, which have no time to be checked at, are found after a start, once", async () => {
  const before = desk({ people: { ben: {}, cara: {} } }, approvers("ben", "cara"));
  const { ledger, clock } = before;
  const { cardId } = await before.askAndPost();
  await ledger.transition("card", cardId, ["made"], "made", ({ nextCheckAt: _, notify, ...card }) => ({
    ...card,
    ...(notify && { notify: { ...notify, handed: [{ by: ann, to: { id: "cara", name: "Cara" }, at: 0 }] } }),
  }));
  clock.now += hour / 2;
  await before.approvals.whenIdle();
  const after = desk({ people: { ben: {}, cara: {} } }, approvers("ben", "cara"), {}, ledger);
  after.clock.now = clock.now;
  await after.sweep();
  await after.sweep();
  expect(after.said.map(({ key }) => key)).toEqual([`handed-${cardId}-0`, expect.stringContaining("remind")]);
  expect((await ledger.list("card", { dueBefore: Number.MAX_SAFE_INTEGER })).length).toBe(0);
});

function turnOf(id: string) {
  const target = { platform: "test", conversationId, turnId: id, messageId: `message-${id}` };
  const message = { id: `message-${id}`, platform: "test", conversationId, scope: "channel:C1" as const, author: ann };
  return {
    ...{ id, conversationId, scope: "channel:C1" as const, target, workingFolder: "/", steps: [], startedAt: 0 },
    messages: [{ ...message, text: "clean up", attachments: [], isAddressed: true, isDirect: false, at: 0 }],
    isDelivered: false,
  };
}

test("a copy answers for whom the operator named outside the channel, until they leave the workspace", async () => {
  const members = new Set(["ann", "ben"]);
  const made = desk(
    { people: { ben: { isHere: false } } },
    {
      policy: { approvers: ["user:ben"] },
      isPresent: async () => false,
      authority: async (by) => (members.has(by.id) ? by : undefined),
    },
  );
  const kept = await made.askAndPost("t1", channel);
  const byCopy = { by: ben, conversationId: "test:dm:ben" };
  expect((await made.approvals.answer(click(kept.cardId, byCopy))).accepted).toBe(true);
  expect(await made.approvals.redeem(kept.approvalId, call("c1"), folder)).toMatchObject({ type: "approved" });
  const late = await made.askAndPost("t2", channel);
  members.delete("ben");
  for (const choice of ["approve", "deny", "why", "end", "diff", "undo", "again", "handover", "reask"] as const) {
    const receipt = await made.approvals.answer(click(late.cardId, { ...byCopy, choice }));
    expect(receipt).toMatchObject({ accepted: false, text: expect.stringContaining("no longer where it was asked") });
  }
  expect(await made.stateOf(late.approvalId)).toBe("open");
});

test("the copy of somebody who was in the channel answers only while they are in it", async () => {
  const there = new Set(["ann", "ben"]);
  const changes = { policy: { approvers: ["user:ben"] }, isPresent: async (by: Author) => there.has(by.id) };
  const made = desk({ people: { ben: { isHere: true } } }, changes, { where: "both" });
  const { cardId, approvalId } = await made.askAndPost("t1", channel);
  const byCopy = click(cardId, { by: ben, conversationId: "test:dm:ben" });
  there.delete("ben");
  expect(await made.approvals.answer(byCopy)).toMatchObject({
    accepted: false,
    text: expect.stringContaining("no longer where it was asked"),
  });
  there.add("ben");
  expect((await made.approvals.answer(byCopy)).accepted).toBe(true);
  there.delete("ben");
  expect(await made.approvals.redeem(approvalId, call("c1"), folder)).toMatchObject({ type: "refused" });
});
