/** What ends or changes a turn from outside: stop, edits and deletions. */
import { describe, expect, test } from "vitest";
import { stopCommand } from "../../src/commands/stop-command.ts";
import { TurnOwnershipLost } from "../../src/engine/turn/turn-store.ts";
import { abortCauseOf } from "../../src/lib/abort.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { InboundCommand } from "../../src/ports/message.ts";
import { inboundMessage } from "../doubles/records.ts";
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

  test("a stop message that is delivered again does not stop later messages", async () => {
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
