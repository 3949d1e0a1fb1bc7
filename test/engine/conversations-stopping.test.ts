/** What ends or changes a turn from outside: stop, edits and deletions. */
import { beforeEach, describe, expect, test } from "vitest";
import { stopCommand } from "../../src/commands/stop-command.ts";
import type { ConversationsOptions } from "../../src/engine/conversation/conversations.ts";
import { turnIdFor } from "../../src/engine/conversation/inbox.ts";
import { TurnOwnershipLost } from "../../src/engine/turn/turn-store.ts";
import { abortCauseOf } from "../../src/lib/abort.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Conversations } from "../../src/ports/conversation.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundCommand, InboundMessage, ReplyTarget } from "../../src/ports/message.ts";
import { createDelivery } from "../../src/response/deliver.ts";
import { createRecordingReply, type RecordingReply } from "../doubles/recording-reply.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import {
  create,
  createHeld,
  createLatch,
  endNoting,
  endTurn,
  keepApproval,
  ledger,
  textsOf,
  untilAborted,
  useLedger,
} from "./conversations-world.ts";

useLedger();

describe("stopping", () => {
  test("ends the running and the parked turns of this conversation only", async () => {
    const aborted: string[] = [];
    const conversations = create({
      async run(turn, signal) {
        if (turn.conversationId === "test:other") return endTurn(turn, "done");
        await untilAborted(signal);
        aborted.push(abortCauseOf(signal));
        return endTurn(turn, "stopped");
      },
    });
    await conversations.accept(inboundMessage({ id: "1" }));
    await conversations.accept(inboundMessage({ id: "2", conversationId: "test:other" }));
    await expect.poll(async () => (await conversations.status({ conversationId: "test:c1" })).running).toBe(1);
    expect(await conversations.stop("test:c1")).toBe(1);
    await conversations.whenIdle();
    expect(aborted).toEqual(["stopped"]);
    expect(await ledger.list("turn", { states: ["done"] })).toHaveLength(1);
  });

  test("in a DM of threads, `stop` outside them ends what its author has asked before in all of them, and nothing later", async () => {
    const conversations = create({
      async run(turn, signal) {
        await untilAborted(signal);
        return endTurn(turn, "stopped");
      },
    });
    const inDm = (id: string, at: number, more: Partial<InboundMessage> = {}) =>
      inboundMessage({ id, conversationId: `test:dm:${id}`, scope: "dm:u1", isDirect: true, at, ...more });
    await conversations.accept(inDm("1", 1));
    await conversations.accept(inDm("2", 2));
    await conversations.accept(inDm("4", 4));
    await expect.poll(async () => (await conversations.status()).running).toBe(3);
    const stop = inDm("3", 3);
    expect(await conversations.stopFor(stop)).toBe(false);
    expect(await conversations.stopBeside(inDm("5", 5, { scope: "channel:c1" }))).toBe(0);
    expect(await conversations.stopBeside(inDm("6", 6, { conversationId: "test:dm:4" }))).toBe(0);
    // Below an answer of another conversation.
    expect(await conversations.stopBeside(inDm("7", 7, { isInThread: true }))).toBe(0);
    expect(await conversations.stopBeside(stop)).toBe(2);
    expect(await conversations.stopBeside(stop)).toBe(0);
    expect(await conversations.accept(stop)).toBe(false);
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    await conversations.stop("test:dm:4");
    await conversations.whenIdle();
  });

  test("`stop` as a new mention ends what its author runs in that channel, and nothing of others or elsewhere", async () => {
    const aborted: string[] = [];
    const conversations = create({
      async run(turn, signal) {
        await untilAborted(signal);
        aborted.push(turn.messages[0]?.id ?? "");
        return endTurn(turn, "stopped");
      },
    });
    const mention = (id: string, at: number, more: Partial<InboundMessage> = {}) =>
      inboundMessage({ id, conversationId: `test:c:${id}`, scope: "channel:c", at, ...more });
    const ben = { id: "u2", name: "Ben", isBot: false, roles: [] };
    await conversations.accept(mention("own", 1));
    await conversations.accept(mention("bens", 2, { author: ben }));
    await conversations.accept(mention("elsewhere", 3, { scope: "channel:d" }));
    await conversations.accept(mention("other service", 4, { platform: "other" }));
    await conversations.accept(mention("later", 9));
    await expect.poll(async () => (await conversations.status()).running).toBe(5);
    // In a thread where nothing of hers runs.
    expect(await conversations.stopBeside(mention("6", 6, { isInThread: true }))).toBe(0);
    expect(await conversations.stopBeside(mention("7", 7, { author: { ...ben, id: "u3" } }))).toBe(0);
    const stop = mention("8", 8);
    expect(await conversations.stopFor(stop)).toBe(false);
    expect(await conversations.stopBeside(stop)).toBe(1);
    await expect.poll(async () => (await conversations.status()).running).toBe(4);
    expect(aborted).toEqual(["own"]);
    for (const { body } of await ledger.list("turn", { states: ["running"] }))
      await conversations.stop(body.conversationId);
    await conversations.whenIdle();
  });

  test("the command in a thread where nothing runs does not stop the channel's other threads", async () => {
    const conversations = create({
      async run(turn, signal) {
        await untilAborted(signal);
        return endTurn(turn, "stopped");
      },
    });
    const { run } = stopCommand(conversations);
    const { author: ann } = inboundMessage();
    const command = (where: Partial<InboundCommand>) =>
      run({
        ...{ platform: "test", scope: "channel:c", name: "stop", rest: "", at: 1 },
        by: ann,
        conversationId: "test:c",
        ...where,
      });
    await conversations.accept(inboundMessage({ id: "1", conversationId: "test:c:1", scope: "channel:c" }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    expect(await command({ conversationId: "test:c:2", isInThread: true })).toBe("Nothing is running here.");
    expect(await command({ conversationId: "test:c:1", isInThread: true })).toBe("Stopped.");
    await conversations.whenIdle();
    await conversations.accept(inboundMessage({ id: "2", conversationId: "test:c:1", scope: "channel:c" }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    expect(await command({})).toBe("Stopped.");
    await conversations.whenIdle();
  });

  test("requests that wait for a free slot end without a turn, and their replies say so", async () => {
    const replies = new Map<string, RecordingReply>();
    const ran: string[][] = [];
    const latch = createLatch();
    const conversations = create({
      concurrency: 1,
      async run(turn) {
        ran.push(textsOf(turn));
        await latch.opened;
        return endTurn(turn, "done");
      },
      async openReply({ turnId }) {
        const reply = createRecordingReply();
        replies.set(turnId, reply);
        return createDelivery({ reply, redact: (text) => text, log: silentLog });
      },
    });
    const said = (id: string, place: Partial<InboundMessage>) =>
      conversations.accept(inboundMessage({ id, text: id, at: Number(id), ...place }));
    await said("1", { conversationId: "test:busy", scope: "channel:busy" });
    await expect.poll(() => ran).toEqual([["1"]]);
    await said("2", { conversationId: "test:c:1", scope: "channel:c" });
    await said("3", { conversationId: "test:c:1", scope: "channel:c" });
    await said("4", { conversationId: "test:c:2", scope: "channel:c" });
    const ben = { id: "ben", name: "Ben", isBot: false, roles: [] };
    await said("5", { conversationId: "test:c:3", scope: "channel:c", author: ben });
    expect(await conversations.stop("test:c:1")).toBe(1);
    expect(await conversations.stopFor(inboundMessage({ id: "6", conversationId: "test:c:3", at: 6 }))).toBe(false);
    expect(await conversations.stopFor(inboundMessage({ id: "7", conversationId: "test:c:2", at: 3 }))).toBe(false);
    expect(await conversations.stopFor(inboundMessage({ id: "8", conversationId: "test:c:2", at: 8 }))).toBe(true);
    expect(await conversations.stopScope("channel:c")).toBe(1);
    await expect.poll(() => [...replies.values()].map(({ segments }) => segments)).toEqual(Array(3).fill(["Stopped."]));
    latch.open();
    await conversations.whenIdle();
    expect(ran).toEqual([["1"]]);
    expect(await ledger.list("turn", {})).toHaveLength(1);
    expect(await conversations.unanswered("test")).toEqual([]);
  });

  describe("a request that waits, before its reply says so", () => {
    let replies: Map<string, RecordingReply>;
    beforeEach(() => {
      replies = new Map();
    });
    const openReply = async ({ turnId }: ReplyTarget) => {
      const reply = createRecordingReply();
      replies.set(turnId, reply);
      return createDelivery({ reply, redact: (text) => text, log: silentLog });
    };
    const waiting = ["2", "3"].map((id) => inboundMessage({ id, text: id, at: Number(id) }));
    const statesOf = async () => (await ledger.list("message", {})).map(({ state }) => state);

    /** Stops the waiting request in a process that ends before it can say so. */
    async function stopWaiting(changes: Partial<ConversationsOptions> = {}): Promise<Conversations> {
      for (const body of waiting)
        await ledger.create("message", `test:${body.id}`, { state: "queued", body, group: body.conversationId });
      const conversations = create({ openReply: () => new Promise(() => {}), ...changes });
      expect(await conversations.stop("test:c1")).toBe(1);
      expect(await statesOf()).toEqual(["stopping", "stopping"]);
      return conversations;
    }

    test("is told once by the next process, if its own one dies", async () => {
      await stopWaiting();
      const next = create({ openReply });
      await next.recover();
      await expect.poll(statesOf).toEqual(["stopped", "stopped"]);
      expect([...replies]).toMatchObject([[turnIdFor(waiting[0] as InboundMessage), { segments: ["Stopped."] }]]);
      replies.clear();
      await create({ openReply }).recover();
      await next.sweep();
      await next.whenIdle();
      expect([...replies]).toEqual([]);
    });

    test("is told by a sweep, once its service accepts messages again", async () => {
      let isAway = true;
      const away = new RemoraError({ code: "platform.away", place: "platform test", message: "is down" });
      const conversations = await stopWaiting({
        openReply: (target) => (isAway ? Promise.reject(away) : openReply(target)),
      });
      isAway = false;
      await expect
        .poll(async () => {
          await conversations.sweep();
          return await statesOf();
        })
        .toEqual(["stopped", "stopped"]);
      expect([...replies.values()].map(({ segments }) => segments)).toEqual([["Stopped."]]);
    });

    test("is not told if its conversation is gone, and nobody tries again", async () => {
      const gone = new RemoraError({
        code: "platform.no-route",
        place: "platform test",
        message: "nobody would see it",
      });
      await stopWaiting({ openReply: () => Promise.reject(gone) });
      await expect.poll(statesOf).toEqual(["stopped", "stopped"]);
    });

    test("is told if its turn was just being created, and took nothing", async () => {
      const body = turnRecord({ id: turnIdFor(waiting[0] as InboundMessage), conversationId: "test:c1" });
      await ledger.create("turn", body.id, { state: "running", body, group: "test:c1" });
      for (const message of waiting)
        await ledger.create("message", `test:${message.id}`, { state: "stopping", body: message, group: "test:c1" });
      const conversations = create({ openReply, takesTurns: false });
      await conversations.sweep();
      await ledger.transition("turn", body.id, ["running"], "stopped");
      await expect
        .poll(async () => {
          await conversations.sweep();
          return await statesOf();
        })
        .toEqual(["stopped", "stopped"]);
      expect([...replies.values()].map(({ segments }) => segments)).toEqual([["Stopped."]]);
    });
  });

  test("a stop message or a click on stop that is delivered again does not stop later messages", async () => {
    const [first, second] = [createLatch(), createLatch()];
    const ends: string[] = [];
    const conversations = create({
      async run(turn, signal) {
        signal.addEventListener("abort", first.open);
        await (turn.messages[0]?.id === "1" ? first : second).opened;
        ends.push(`${textsOf(turn)} ${signal.aborted ? "stopped" : "done"}`);
        return endTurn(turn, "done");
      },
    });
    const stop = inboundMessage({ id: "2", text: "stop", at: 2 });
    const { conversationId } = stop;
    expect(await conversations.stopFor(stop)).toBe(false);
    await conversations.accept(inboundMessage({ id: "1", text: "one", at: 1 }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    expect(await conversations.stopFor(stop)).toBe(true);
    await conversations.whenIdle();
    await conversations.accept(stop);
    await conversations.whenIdle();
    await conversations.accept(inboundMessage({ id: "3", text: "three", at: 3 }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    expect(await conversations.stopFor(stop)).toBe(true);
    expect(await conversations.stop(conversationId, 2)).toBe(0);
    second.open();
    await conversations.whenIdle();
    expect(ends).toEqual(["one stopped", "three done"]);
  });

  test("a parked turn loses its approvals at once and ends as stopped; its messages count as answered", async () => {
    const cancelled: string[] = [];
    const conversations = create({
      run: (turn, signal) => keepApproval(turn.id).then(() => endTurn(turn, signal.aborted ? "stopped" : "parked")),
      cancelApprovals: async (turnId) => void cancelled.push(turnId),
    });
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    expect(await conversations.stop("test:c1")).toBe(1);
    expect(cancelled).toHaveLength(1);
    await conversations.whenIdle();
    expect(await ledger.list("turn", { states: ["stopped"] })).toHaveLength(1);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(1);
  });

  test("a turn that is stopped while it parks ends at once", async () => {
    const latch = createLatch();
    const conversations = create({
      async run(turn, signal) {
        if (signal.aborted) return await endTurn(turn, "stopped");
        await keepApproval(turn.id);
        await latch.opened;
        return await endTurn(turn, "parked");
      },
    });
    await conversations.accept(inboundMessage());
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    expect(await conversations.stop("test:c1")).toBe(1);
    latch.open();
    await conversations.whenIdle();
    expect(await ledger.list("turn", { states: ["stopped"] })).toHaveLength(1);
  });

  test("a sweep ends a turn that was stopped while it parked, if its process died", async () => {
    const latch = createLatch();
    const first = create({
      run: (turn) =>
        keepApproval(turn.id).then(async () => {
          await latch.opened;
          await endTurn(turn, "parked");
          throw new TurnOwnershipLost(turn.id);
        }),
    });
    await first.accept(inboundMessage());
    await expect.poll(async () => (await first.status()).running).toBe(1);
    await first.stop("test:c1");
    latch.open();
    await first.whenIdle();
    expect(await ledger.list("turn", { dueBefore: Date.now() + 1 })).toHaveLength(1);
  });
});

describe("edits and deletions", () => {
  test("change queued messages; a deleted message never runs", async () => {
    const { conversations, ran, release } = await createHeld();
    for (const id of ["2", "3"]) await conversations.accept(inboundMessage({ id, text: `message ${id}` }));
    await conversations.edit("test:1", "too late");
    await conversations.edit("test:2", "edited");
    await conversations.remove("test:3");
    const unanswered = await conversations.unanswered("test");
    expect(unanswered.map(({ id }) => id).toSorted()).toEqual(["1", "2"]);
    expect(await conversations.unanswered("other")).toEqual([]);
    release();
    await conversations.whenIdle();
    expect(ran.map(textsOf)).toEqual([["one"], ["edited"]]);
    expect(await conversations.unanswered("test")).toEqual([]);
  });

  test("reach the turn if they come while it is created", async () => {
    const ran: string[][] = [];
    const changing: Ledger = {
      ...ledger,
      async create(kind, id, entry) {
        const isNew = await ledger.create(kind, id, entry);
        if (kind === "turn") {
          await ledger.transition("message", "test:2", ["queued"], "queued", (message) => ({
            ...message,
            text: "edited",
          }));
          await ledger.transition("message", "test:1", ["queued"], "removed");
        }
        return isNew;
      },
    };
    for (const id of ["1", "2"]) {
      await ledger.create("message", `test:${id}`, { state: "queued", body: inboundMessage({ id }), group: "test:c1" });
    }
    const conversations = create({ ledger: changing, run: (turn) => endNoting(turn, ran) });
    await conversations.sweep();
    await conversations.whenIdle();
    expect(ran).toEqual([["edited"]]);
  });

  test("end the turn before it begins if they leave no message", async () => {
    const ran: string[][] = [];
    const removing: Ledger = {
      ...ledger,
      async create(kind, id, entry) {
        const isNew = await ledger.create(kind, id, entry);
        if (kind === "turn") await ledger.transition("message", "test:m1", ["queued"], "removed");
        return isNew;
      },
    };
    const conversations = create({ ledger: removing, run: (turn) => endNoting(turn, ran) });
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    expect(ran).toEqual([]);
    expect(await ledger.list("turn", { states: ["running"] })).toEqual([]);
  });

  test("deleting the message of the running turn stops it", async () => {
    const conversations = create({
      async run(turn, signal) {
        await untilAborted(signal);
        return endTurn(turn, "stopped");
      },
    });
    await conversations.accept(inboundMessage());
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    await conversations.remove("test:m1");
    await conversations.whenIdle();
    expect(await ledger.list("turn", { states: ["stopped"] })).toHaveLength(1);
  });
});
