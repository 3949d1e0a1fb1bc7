import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { statusCommand } from "../../src/commands/status-command.ts";
import { type ConversationsOptions, createConversations } from "../../src/engine/conversation/conversations.ts";
import type { TurnEnd } from "../../src/engine/turn/turn-store.ts";
import { saveTurn, TurnOwnershipLost } from "../../src/engine/turn/turn-store.ts";
import { abortCauseOf } from "../../src/lib/abort.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Conversations } from "../../src/ports/conversation.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { requesterOf, type TurnRecord } from "../../src/ports/turn.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";

let ledger: Ledger;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
});
afterEach(() => ledger.close());

function create(changes: Partial<ConversationsOptions> = {}): Conversations {
  return createConversations({
    ledger,
    events: createEvents(),
    log: silentLog,
    leases: createInMemoryLeases(),
    bus: createInMemoryBus(silentLog),
    takesTurns: true,
    resumeOrphansEveryMs: 5_000,
    serves: async () => true,
    overlap: "queue",
    concurrency: 10,
    run: (turn) => endTurn(turn, "done"),
    onCrash: async () => {},
    cancelApprovals: async () => {},
    settleDecided: async () => {},
    workingFolder: () => "/nowhere",
    openReply: async () => undefined,
    ...changes,
  });
}

async function endTurn(turn: TurnRecord, end: TurnEnd): Promise<TurnEnd> {
  if (end !== "suspended" && end !== "undelivered") await saveTurn(ledger, turn, end);
  return end;
}

/** A gate that a test opens when it has seen what it waits for. */
function createLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

async function endNoting(turn: TurnRecord, ran: string[][]): Promise<TurnEnd> {
  ran.push(textsOf(turn));
  return await endTurn(turn, "done");
}

const messageOf = (id: string, text: string) =>
  inboundMessage({ id: text, text, author: { id, name: id, isBot: false, roles: [] } });
const textsOf = (turn: TurnRecord) => turn.messages.map((message) => message.text);

describe("accepting", () => {
  test("the same message twice makes one turn", async () => {
    const ran: string[][] = [];
    const conversations = create({ run: (turn) => endNoting(turn, ran) });
    await conversations.accept(inboundMessage());
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    expect(ran).toEqual([["hello"]]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(1);
  });

  test("what is said while a turn runs is merged into the next one, in order", async () => {
    const ran: string[][] = [];
    const latch = createLatch();
    const conversations = create({
      async run(turn) {
        ran.push(textsOf(turn));
        if (ran.length === 1) await latch.opened;
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran.length).toBe(1);
    await conversations.accept(inboundMessage({ id: "2", text: "two" }));
    await conversations.accept(inboundMessage({ id: "3", text: "three" }));
    latch.open();
    await conversations.whenIdle();
    expect(ran).toEqual([["one"], ["two", "three"]]);
  });

  test("what several people say becomes a turn of each, in order: nobody's rights count for another's request", async () => {
    const ran: [string, string[]][] = [];
    const latch = createLatch();
    const conversations = create({
      async run(turn) {
        ran.push([requesterOf(turn).id, textsOf(turn)]);
        if (ran.length === 1) await latch.opened;
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran.length).toBe(1);
    const said = ["ann", "ben", "ben", "ann", "carl"];
    for (const [index, id] of said.entries()) await conversations.accept(messageOf(id, `${index + 2}`));
    latch.open();
    await conversations.whenIdle();
    expect(ran).toEqual([
      ["ann", ["one"]],
      ["ann", ["2"]],
      ["ben", ["3", "4"]],
      ["ann", ["5"]],
      ["carl", ["6"]],
    ]);
  });

  test("a message that comes just as its conversation runs dry is not left lying", async () => {
    const ran: string[][] = [];
    const conversations = create({ run: (turn) => endNoting(turn, ran) });
    const texts = Array.from({ length: 300 }, (_, index) => `${index}`);
    for (const text of texts) {
      await conversations.accept(inboundMessage({ id: text, text }));
      // Lets the scheduler get anywhere between starting and having found nothing more.
      for (let tick = Number(text) % 7; tick > 0; tick--) await Promise.resolve();
    }
    await conversations.whenIdle();
    expect(ran.flat()).toEqual(texts);
  });

  test("a message that is fetched after a newer one has arrived comes first all the same", async () => {
    const ran: string[][] = [];
    const latch = createLatch();
    const conversations = create({
      async run(turn) {
        ran.push(textsOf(turn));
        if (ran.length === 1) await latch.opened;
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one", at: 1_000 }));
    await expect.poll(() => ran.length).toBe(1);
    await conversations.accept(inboundMessage({ id: "3", text: "three", at: 3_000 }));
    await conversations.accept(inboundMessage({ id: "2", text: "two", at: 2_000 }));
    latch.open();
    await conversations.whenIdle();
    expect(ran).toEqual([["one"], ["two", "three"]]);
  });

  test("what can't be delivered is tried again, and later messages of the conversation wait for it", async () => {
    const ran: string[][] = [];
    const conversations = create({
      async run(turn) {
        ran.push(textsOf(turn));
        return await endTurn(turn, ran.length < 3 ? "undelivered" : "done");
      },
    });
    await conversations.accept(messageOf("ann", "one"));
    await expect.poll(() => ran.length).toBe(1);
    await conversations.accept(messageOf("ben", "two"));
    await conversations.sweep();
    await expect.poll(() => ran.length).toBe(4);
    expect(ran).toEqual([["one"], ["one"], ["one"], ["two"]]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(2);
  });

  test("in one conversation turns never overlap; over all at most the limit run", async () => {
    const running = new Map<string, number>();
    let most = 0;
    const conversations = create({
      concurrency: 3,
      async run(turn) {
        const now = (running.get(turn.conversationId) ?? 0) + 1;
        expect(now).toBe(1);
        running.set(turn.conversationId, now);
        most = Math.max(most, running.size);
        await new Promise((resolve) => setImmediate(resolve));
        running.delete(turn.conversationId);
        return endTurn(turn, "done");
      },
    });
    for (let index = 0; index < 60; index++) {
      await conversations.accept(inboundMessage({ id: `m${index}`, conversationId: `test:c${index % 12}` }));
    }
    await conversations.whenIdle();
    expect(most).toBe(3);
    expect(await conversations.status()).toEqual({ running: 0, parked: 0, queued: 0 });
  });
});

describe("parking", () => {
  test("a parked turn lets the conversation go on, and an answer brings it back", async () => {
    const ran: string[] = [];
    const conversations = create({
      async run(turn) {
        const isFirst = ran.length === 0;
        ran.push(textsOf(turn).join());
        if (isFirst) await keepApproval(turn.id);
        return endTurn(turn, isFirst ? "parked" : "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "risky" }));
    await conversations.accept(inboundMessage({ id: "2", text: "other" }));
    await conversations.whenIdle();
    const [parked] = await ledger.list("turn", { states: ["parked"] });
    await conversations.wake(parked?.id ?? "");
    await conversations.whenIdle();
    expect(ran[0]).toMatch(/^risky/);
    expect(ran.filter((text) => text.startsWith("risky"))).toHaveLength(2);
    expect(await conversations.status()).toMatchObject({ parked: 0, running: 0, queued: 0 });
  });

  test("an answer that came while the turn was parking is not missed", async () => {
    let runs = 0;
    const conversations = create({ run: async (turn) => endTurn(turn, ++runs === 1 ? "parked" : "done") });
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    expect(runs).toBe(2);
  });
});

describe("a process that leaves the work to others", () => {
  test("warns, now and then, of a message that nobody takes, and not of one that waits for a turn to end", async () => {
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const front = create({ takesTurns: false, log });
    await front.accept(inboundMessage({ id: "1" }));
    const keptAt = Date.now();
    await front.sweep(keptAt + 20_000);
    expect(warnings).toEqual([]);
    for (const seconds of [40, 50, 90, 110]) await front.sweep(keptAt + seconds * 1_000);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatchObject({ conversationId: "test:c1" });
    const turn = turnRecord({ conversationId: "test:c1" });
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: "test:c1" });
    await front.sweep(keptAt + 200_000);
    expect(warnings).toHaveLength(2);
  });
});

describe("/remora status", () => {
  test("counts what runs in threads of the channel, also where no command can be given in a thread", async () => {
    const latch = createLatch();
    const conversations = create({
      async run(turn) {
        await latch.opened;
        return await endTurn(turn, "done");
      },
    });
    const status = statusCommand(conversations);
    const by = { id: "U1", name: "Ann", isBot: false, roles: [] };
    const said = async (conversationId: string) =>
      await status.run({ platform: "test", conversationId, scope: "channel:c1", by, name: "status", rest: "", at: 0 });
    await conversations.accept(inboundMessage({ id: "1", conversationId: "test:c1:thread" }));
    await conversations.accept(inboundMessage({ id: "2", conversationId: "test:c2", scope: "channel:c2" }));
    await expect.poll(async () => (await conversations.status()).running).toBe(2);
    expect((await said("test:c1")).split("\n")).toEqual([
      "- here: 0 running, 0 waiting for approval, 0 queued",
      "- here, with all threads: 1 running, 0 waiting for approval, 0 queued",
      "- everywhere: 2 running, 0 waiting for approval, 0 queued",
    ]);
    expect((await said("test:c1:thread")).split("\n")).toHaveLength(2);
    latch.open();
    await conversations.whenIdle();
  });
});

describe("stopping", () => {
  test("aborts what runs and ends what is parked in this conversation, and nothing else", async () => {
    const aborted: string[] = [];
    const conversations = create({
      async run(turn, signal) {
        if (turn.conversationId === "test:other") return endTurn(turn, "done");
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
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

  test("a message that says so is known when it is delivered again, and means nothing that was said after it", async () => {
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

  test("a turn that is told to end while it is being parked ends at once", async () => {
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

  test("a sweep ends such a turn if its process has died since", async () => {
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
  test("change what is still queued; a deleted message never runs", async () => {
    const ran: string[][] = [];
    const latch = createLatch();
    const conversations = create({
      async run(turn) {
        ran.push(textsOf(turn));
        if (ran.length === 1) await latch.opened;
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran.length).toBe(1);
    for (const id of ["2", "3"]) await conversations.accept(inboundMessage({ id, text: `message ${id}` }));
    await conversations.edit("test:1", "too late");
    await conversations.edit("test:2", "edited");
    await conversations.remove("test:3");
    latch.open();
    await conversations.whenIdle();
    expect(ran).toEqual([["one"], ["edited"]]);
  });

  test("in the moment in which the turn begins are in the turn as well", async () => {
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

  test("that leave nothing to work on end the turn before it begins", async () => {
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

  test("deleting the message that is being worked on stops the turn", async () => {
    const conversations = create({
      async run(turn, signal) {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
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

describe("overlap", () => {
  test("interrupt ends the running turn in favour of the newer message", async () => {
    const causes: string[] = [];
    const ran: string[] = [];
    const conversations = create({
      overlap: "interrupt",
      async run(turn, signal) {
        ran.push(...textsOf(turn));
        if (ran.length > 1) return endTurn(turn, "done");
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        causes.push(abortCauseOf(signal));
        return endTurn(turn, "stopped");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran).toEqual(["one"]);
    await conversations.accept(inboundMessage({ id: "2", text: "two" }));
    await conversations.whenIdle();
    expect([ran, causes]).toEqual([["one", "two"], ["interrupted"]]);
  });

  test("interrupt leaves the turn of somebody else alone, and steer takes nothing of what others say", async () => {
    for (const overlap of ["interrupt", "steer"] as const) {
      const latch = createLatch();
      const ran: string[][] = [];
      const steered: string[] = [];
      const conversationId = `test:${overlap}`;
      const conversations: Conversations = create({
        overlap,
        async run(turn, signal) {
          ran.push(textsOf(turn));
          if (ran.length === 1) await latch.opened;
          steered.push(...(await conversations.takeSteering(turn.id, conversationId)).map(({ text }) => text));
          return endTurn(turn, signal.aborted ? "stopped" : "done");
        },
      });
      const say = (by: string, text: string) =>
        conversations.accept({ ...messageOf(by, text), id: `${overlap}${text}`, conversationId });
      await say("ann", "one");
      await expect.poll(() => ran.length).toBe(1);
      await say("ben", "two");
      if (overlap === "steer") await say("ann", "three");
      latch.open();
      await conversations.whenIdle();
      expect([overlap, ran, steered]).toEqual([overlap, [["one"], ["two"]], overlap === "steer" ? ["three"] : []]);
      expect(await ledger.list("turn", { states: ["stopped"] })).toEqual([]);
    }
  });

  test("interrupt does not end the turn that the message itself has begun meanwhile in another process", async () => {
    const latch = createLatch();
    const causes: string[] = [];
    const worker = create({
      async run(turn, signal) {
        signal.addEventListener("abort", () => causes.push(abortCauseOf(signal)));
        await latch.opened;
        const kept = await ledger.get("turn", turn.id);
        if (kept?.body.abort !== undefined) causes.push(kept.body.abort);
        return endTurn(turn, "done");
      },
    });
    const slow: Ledger = {
      ...ledger,
      async create(kind, id, entry) {
        const isNew = await ledger.create(kind, id, entry);
        await worker.sweep();
        await expect.poll(async () => (await worker.status()).running).toBe(1);
        return isNew;
      },
    };
    const front = create({ ledger: slow, overlap: "interrupt", takesTurns: false });
    await front.accept(inboundMessage({ id: "1", text: "one" }));
    latch.open();
    await worker.whenIdle();
    expect(causes).toEqual([]);
  });

  test("steer hands what was said meanwhile to the running turn, once", async () => {
    const latch = createLatch();
    const taken: string[][] = [];
    const ran: string[] = [];
    const conversations: Conversations = create({
      overlap: "steer",
      async run(turn) {
        ran.push(...textsOf(turn));
        await latch.opened;
        for (let step = 0; step < 2; step++) {
          const said = await conversations.takeSteering(turn.id, turn.conversationId);
          taken.push(said.map((message) => message.text));
          turn.messages.push(...said);
        }
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran).toEqual(["one"]);
    await conversations.accept(inboundMessage({ id: "2", text: "two" }));
    latch.open();
    await conversations.whenIdle();
    expect([ran, taken]).toEqual([["one"], [["two"], []]]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(2);
  });

  test("a run that was given up for dead takes nothing of what was said meanwhile", async () => {
    const [latch, tried] = [createLatch(), createLatch()];
    const [ran, taken]: [string[][], string[][]] = [[], []];
    const conversations: Conversations = create({
      overlap: "steer",
      async run(turn) {
        ran.push(textsOf(turn));
        if (ran.length > 1) return endTurn(turn, "done");
        await latch.opened;
        taken.push((await conversations.takeSteering(turn.id, turn.conversationId)).map(({ text }) => text));
        tried.open();
        return endTurn(turn, "done");
      },
    });
    await conversations.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran.length).toBe(1);
    const [turn] = await ledger.list("turn", {});
    const other = (body: TurnRecord) => ({ ...body, owner: "another process" });
    await ledger.transition("turn", turn?.id ?? "", ["running"], "running", other);
    await conversations.accept(inboundMessage({ id: "2", text: "two" }));
    latch.open();
    await tried.opened;
    // The other process has never read what was said meanwhile.
    await ledger.transition("turn", turn?.id ?? "", ["running"], "done", (body) => ({
      ...body,
      messages: turn?.body.messages ?? [],
    }));
    await conversations.whenIdle();
    await conversations.sweep(Date.now() + 60_000);
    await conversations.whenIdle();
    expect([taken, ran]).toEqual([[[]], [["one"], ["two"]]]);
  });
});

describe("after a crash", () => {
  test("running turns go on, kept messages become turns, and nothing runs twice", async () => {
    // The first process dies in the middle of a turn, with another message queued.
    const first = create({ run: () => new Promise(() => {}) });
    await first.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(async () => (await first.status()).running).toBe(1);
    await first.accept(inboundMessage({ id: "2", text: "two" }));

    const ran: string[][] = [];
    const second = create({ run: (turn) => endNoting(turn, ran) });
    await second.recover();
    await second.whenIdle();
    expect(ran).toEqual([["one"], ["two"]]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(2);
  });

  test("a turn whose messages were not yet marked when the process died takes them with it", async () => {
    const message = inboundMessage();
    await ledger.create("message", "test:m1", { state: "queued", body: message, group: message.conversationId });
    const turn = turnRecord({ messages: [message] });
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    const ran: string[][] = [];
    const conversations = create({ run: (record) => endNoting(record, ran) });
    await conversations.recover();
    await conversations.whenIdle();
    expect(ran).toEqual([["hello"]]);
  });

  test("a disk that was full between the turn and its messages makes no second turn of them", async () => {
    const ran: string[][] = [];
    let isFull = true;
    const failing: Ledger = {
      ...ledger,
      transition(kind, id, from, to, change) {
        if (kind === "message" && isFull) return Promise.reject(new Error("disk full"));
        return ledger.transition(kind, id, from, to, change);
      },
    };
    const conversations = create({ ledger: failing, run: (turn) => endNoting(turn, ran) });
    await conversations.accept(inboundMessage());
    await conversations.whenIdle();
    isFull = false;
    await conversations.sweep();
    await conversations.whenIdle();
    expect(ran).toEqual([["hello"]]);
    expect(await ledger.list("turn", {})).toHaveLength(1);
  });

  test("a turn that throws is a visible failure, and the conversation goes on", async () => {
    const shown: unknown[] = [];
    let runs = 0;
    const conversations = create({
      run: async (turn) => (runs++ === 0 ? Promise.reject(new Error("a bug")) : endTurn(turn, "done")),
      onCrash: async (_turn, thrown) => void shown.push(thrown),
    });
    await conversations.accept(inboundMessage({ id: "1" }));
    await conversations.whenIdle();
    await conversations.accept(inboundMessage({ id: "2" }));
    await conversations.whenIdle();
    expect(shown).toMatchObject([{ message: "a bug" }]);
    expect(await ledger.list("turn", { states: ["failed"] })).toHaveLength(1);
    expect(await ledger.list("turn", { states: ["done"] })).toHaveLength(1);
  });
});

describe("closing", () => {
  test("lets running turns end, suspends those that outlast the grace, and starts nothing new", async () => {
    const ends: string[] = [];
    const conversations = create({
      async run(_turn, signal) {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        ends.push(abortCauseOf(signal));
        return "suspended";
      },
    });
    await conversations.accept(inboundMessage({ id: "1" }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    await conversations.accept(inboundMessage({ id: "2" }));
    await conversations.close(1);
    expect(ends).toEqual(["shutdown"]);
    expect(await conversations.status()).toEqual({ running: 1, parked: 0, queued: 1 });
  });
});

describe("several processes on one ledger", () => {
  const doingNothing = { run: async () => "suspended" as const };

  /** What processes share: here the same objects, as Redis is for real ones. */
  function shared() {
    return { leases: createInMemoryLeases(), bus: createInMemoryBus(silentLog) };
  }

  test("one conversation is worked on in one of them, in order, and many are shared out", async () => {
    const common = shared();
    const ran: string[] = [];
    let inOne = 0;
    let mostInOne = 0;
    const run: ConversationsOptions["run"] = async (turn) => {
      if (turn.conversationId === "test:c0") mostInOne = Math.max(mostInOne, ++inOne);
      await new Promise((resolve) => setImmediate(resolve));
      if (turn.conversationId === "test:c0") inOne--;
      ran.push(...textsOf(turn).map((text) => `${turn.conversationId} ${text}`));
      return endTurn(turn, "done");
    };
    const workers = [create({ ...common, run }), create({ ...common, run })];
    for (let index = 0; index < 60; index++) {
      const message = inboundMessage({ id: `m${index}`, conversationId: `test:c${index % 6}`, text: `${index}` });
      await workers[index % 2]?.accept(message);
    }
    await expect.poll(async () => (await workers[0]?.status())?.queued).toBe(0);
    await Promise.all(workers.map((worker) => worker.whenIdle()));
    expect(mostInOne).toBe(1);
    expect(ran).toHaveLength(60);
    const ofOne = ran.filter((line) => line.startsWith("test:c0 ")).map((line) => Number(line.slice(8)));
    expect(ofOne).toEqual(ofOne.toSorted((one, other) => one - other));
  });

  test("one that takes no turns keeps messages, and another one answers them", async () => {
    const common = shared();
    const ran: string[] = [];
    const front = create({ ...common, takesTurns: false, run: async () => expect.fail("it takes no turns") });
    const worker = create({
      ...common,
      run: async (turn) => {
        ran.push(...textsOf(turn));
        return endTurn(turn, "done");
      },
    });
    await front.accept(inboundMessage({ text: "hello" }));
    await expect.poll(() => ran).toEqual(["hello"]);
    await worker.whenIdle();
    await front.sweep();
    expect(await front.status()).toEqual({ running: 0, parked: 0, queued: 0 });
  });

  test("a stop in one reaches the turn that runs in another", async () => {
    const common = shared();
    const causes: string[] = [];
    const worker = create({
      ...common,
      run: async (turn, signal) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        causes.push(abortCauseOf(signal));
        return endTurn(turn, "stopped");
      },
    });
    const front = create({ ...common, takesTurns: false, ...doingNothing });
    const message = inboundMessage({ id: "1" });
    await front.accept(message);
    await expect.poll(async () => (await front.status()).running).toBe(1);
    expect(await front.stop(message.conversationId)).toBe(1);
    await worker.whenIdle();
    expect(causes).toEqual(["stopped"]);
  });

  test("a stop whose word is lost ends the turn when it writes next", async () => {
    const { leases } = shared();
    const front = create({ leases, takesTurns: false, ...doingNothing });
    const seen: (string | undefined)[] = [];
    const latch = createLatch();
    const worker = create({
      leases,
      run: async (turn) => {
        await latch.opened;
        await saveTurn(ledger, turn);
        seen.push(turn.abort);
        return endTurn(turn, "stopped");
      },
    });
    const message = inboundMessage({ id: "1" });
    await front.accept(message);
    await worker.sweep();
    await expect.poll(async () => (await front.status()).running).toBe(1);
    await front.stop(message.conversationId);
    latch.open();
    await worker.whenIdle();
    expect(seen).toEqual(["stopped"]);
  });

  test("a turn whose process died goes on in another one once its lease has expired", async () => {
    const common = shared();
    const message = inboundMessage({ id: "1", text: "left behind" });
    const dead = await common.leases.acquire(`conversation:${message.conversationId}`);
    const turn = turnRecord({ messages: [message], conversationId: message.conversationId });
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    const ran: string[] = [];
    const worker = create({
      ...common,
      run: async (found) => {
        ran.push(...textsOf(found));
        return endTurn(found, "done");
      },
    });
    await worker.sweep(10_000);
    await worker.whenIdle();
    expect(ran).toEqual([]);
    await dead?.release();
    await worker.sweep(20_000);
    await worker.whenIdle();
    expect(ran).toEqual(["left behind"]);
  });

  test("a clock that was set back does not put it off", async () => {
    const worker = create({ run: (found) => endTurn(found, "done") });
    await worker.sweep(50_000_000);
    const turn = turnRecord();
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    await worker.sweep(10_000_000);
    await worker.whenIdle();
    expect((await ledger.get("turn", turn.id))?.state).toBe("done");
  });

  test("a turn that goes on just while all are looked at keeps its messages", async () => {
    const message = inboundMessage({ id: "1" });
    const turn = turnRecord({ messages: [message] });
    await ledger.create("message", "test:1", { state: "taken", body: message, group: turn.conversationId });
    await ledger.create("turn", turn.id, { state: "parked", body: turn, group: turn.conversationId });
    await keepApproval(turn.id);
    const moved = createLatch();
    // Another process takes it up between a look at those that run and one at those that are parked.
    const looked: Ledger = {
      ...ledger,
      async list(kind, options) {
        if (kind === "turn" && options.states?.[0] === "parked") await moved.opened;
        const found = await ledger.list(kind, options);
        if (kind === "turn") await ledger.transition("turn", turn.id, ["parked"], "running");
        moved.open();
        return found;
      },
    };
    await create({ ledger: looked, leases: { acquire: async () => undefined, close: async () => {} } }).sweep(10_000);
    expect((await ledger.get("message", "test:1"))?.state).toBe("taken");
  });

  test("a turn whose process died comes before what is said after it, whoever hears of that first", async () => {
    const message = inboundMessage({ id: "1", text: "left behind" });
    const turn = turnRecord({ messages: [message], conversationId: message.conversationId });
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    const ran: string[][] = [];
    const worker = create({ run: (found) => endNoting(found, ran) });
    await worker.accept(inboundMessage({ id: "2", text: "said later" }));
    await worker.whenIdle();
    expect(ran).toEqual([["left behind"], ["said later"]]);
  });

  test("a turn that was suspended goes on before what was said meanwhile", async () => {
    const ran: string[][] = [];
    const latch = createLatch();
    const worker = create({
      async run(turn) {
        ran.push(textsOf(turn));
        if (ran.length > 1) return endTurn(turn, "done");
        await latch.opened;
        return "suspended";
      },
    });
    await worker.accept(inboundMessage({ id: "1", text: "one" }));
    await expect.poll(() => ran.length).toBe(1);
    await worker.accept(inboundMessage({ id: "2", text: "two" }));
    latch.open();
    await worker.whenIdle();
    expect(ran).toEqual([["one"], ["one"], ["two"]]);
  });

  test("a turn whose record has disappeared fails visibly, because nobody can go on with it", async () => {
    const crashed: string[] = [];
    const worker = create({
      async run(turn) {
        await ledger.transition("turn", turn.id, ["running"], "done");
        await ledger.prune("turn", ["done"], Date.now() + 60_000);
        return endTurn(turn, "done");
      },
      onCrash: async (turn) => void crashed.push(...textsOf(turn)),
    });
    await worker.accept(inboundMessage({ id: "1", text: "one" }));
    await worker.whenIdle();
    expect(crashed).toEqual(["one"]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(1);
  });

  test("a run that was given up for dead can't write into the turn any more", async () => {
    const turn = turnRecord();
    await ledger.create("turn", turn.id, { state: "running", body: { ...turn, owner: "the new one" }, group: "c" });
    await expect(saveTurn(ledger, { ...turn, owner: "the old one" })).rejects.toThrow("no longer claimed");
    expect((await ledger.get("turn", turn.id))?.body.owner).toBe("the new one");
  });

  test("a lease that is lost while its turn is being taken up suspends it too", async () => {
    const lost = new AbortController();
    const leases = {
      ...createInMemoryLeases(),
      acquire: async () => ({ signal: lost.signal, release: async () => {} }),
    };
    const causes: string[] = [];
    const losing: Ledger = {
      ...ledger,
      create(kind, id, entry) {
        if (kind === "turn") lost.abort();
        return ledger.create(kind, id, entry);
      },
    };
    const worker = create({
      ledger: losing,
      leases,
      run: async (turn, signal) => {
        causes.push(signal.aborted ? abortCauseOf(signal) : "runs on");
        return endTurn(turn, "done");
      },
    });
    await worker.accept(inboundMessage({ id: "1" }));
    await worker.whenIdle();
    expect(causes).toEqual(["shutdown"]);
  });

  test("a lost lease suspends what runs under it", async () => {
    const lost = new AbortController();
    const leases = {
      ...createInMemoryLeases(),
      acquire: async () => ({ signal: lost.signal, release: async () => {} }),
    };
    const causes: string[] = [];
    const worker = create({
      leases,
      run: async (_turn, signal) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        causes.push(abortCauseOf(signal));
        return "suspended";
      },
    });
    await worker.accept(inboundMessage({ id: "1" }));
    await expect.poll(async () => (await worker.status()).running).toBe(1);
    lost.abort();
    await worker.whenIdle();
    expect(causes).toEqual(["shutdown"]);
  });
});

async function keepApproval(turnId: string): Promise<void> {
  const message = inboundMessage();
  await ledger.create("approval", `approval-${turnId}`, {
    state: "open",
    group: turnId,
    body: {
      id: `approval-${turnId}`,
      cardId: "card",
      turnId,
      conversationId: message.conversationId,
      scope: message.scope,
      target: { platform: "test", conversationId: message.conversationId, turnId, messageId: "m1" },
      requester: message.author,
      call: { id: "c", name: "act", input: {} },
      callHash: "",
      requestedHash: "",
      workingFolder: "",
      matches: [],
      extraTags: [],
      approvers: ["requester"],
      quorum: 1,
      notRequester: false,
      votes: [],
      grantIds: [],
      createdAt: 1,
      expiresAt: null,
    },
  });
}
