/** Turns after a crash, when a process ends, and with several processes on one ledger. */
import { describe, expect, test } from "vitest";
import type { ConversationsOptions } from "../../src/engine/conversation/conversations.ts";
import { saveTurn } from "../../src/engine/turn/turn-store.ts";
import { abortCauseOf } from "../../src/lib/abort.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import {
  create,
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

describe("after a crash", () => {
  test("running turns continue, queued messages become turns, and nothing runs twice", async () => {
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

  test("messages not yet marked as taken when the process died stay with their turn", async () => {
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

  test("if the disk is full when messages are marked as taken, they do not get a second turn", async () => {
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

  test("a turn that throws fails visibly, and the conversation continues", async () => {
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
  test("lets running turns end, suspends those that outlast the grace period, and starts nothing new", async () => {
    const ends: string[] = [];
    const conversations = create({
      async run(_turn, signal) {
        await untilAborted(signal);
        ends.push(abortCauseOf(signal));
        return "suspended";
      },
    });
    await conversations.accept(inboundMessage({ id: "1" }));
    await expect.poll(async () => (await conversations.status()).running).toBe(1);
    await conversations.accept(inboundMessage({ id: "2" }));
    await conversations.close(AbortSignal.timeout(1));
    expect(ends).toEqual(["shutdown"]);
    expect(await conversations.status()).toEqual({ running: 1, parked: 0, queued: 1 });
  });
});

test("messages of an earlier process are read again before their turn begins, others are not", async () => {
  for (const id of ["1", "2"]) {
    const body = inboundMessage({ id, text: `old ${id}` });
    await ledger.create("message", `test:${id}`, { state: "queued", body, group: body.conversationId });
  }
  const looked: string[] = [];
  const ran: string[][] = [];
  const conversations = create({
    async lookAgain({ id }) {
      looked.push(id);
      await (id === "1" ? conversations.edit("test:1", "edited") : conversations.remove("test:2"));
    },
    run: (turn) => endNoting(turn, ran),
  });
  await conversations.recover();
  await conversations.whenIdle();
  await conversations.accept(inboundMessage({ id: "3", text: "new" }));
  await conversations.whenIdle();
  expect(looked.toSorted()).toEqual(["1", "2"]);
  expect(ran).toEqual([["edited"], ["new"]]);
});

describe("several processes on one ledger", () => {
  const doingNothing = { run: async () => "suspended" as const };

  /** What processes share through Redis: here, the same objects. */
  function shared() {
    return { leases: createInMemoryLeases(), bus: createInMemoryBus(silentLog) };
  }

  /** Leases that are lost when the signal aborts. */
  const leasesUntil = (signal: AbortSignal) => ({
    ...createInMemoryLeases(),
    acquire: async () => ({ signal, release: async () => {} }),
  });

  test("each conversation runs in one process at a time, in order, and conversations are spread over processes", async () => {
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

  test("a process that runs no turns stores messages, and another one answers them", async () => {
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

  test("a stop in one process reaches a turn that runs in another", async () => {
    const common = shared();
    const causes: string[] = [];
    const worker = create({
      ...common,
      run: async (turn, signal) => {
        await untilAborted(signal);
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

  test("if the bus loses a stop, the turn ends at its next write", async () => {
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

  test("a turn whose process died continues in another one once its lease has expired", async () => {
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

  test("a clock that was set back does not delay orphaned turns", async () => {
    const worker = create({ run: (found) => endTurn(found, "done") });
    await worker.sweep(50_000_000);
    const turn = turnRecord();
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    await worker.sweep(10_000_000);
    await worker.whenIdle();
    expect((await ledger.get("turn", turn.id))?.state).toBe("done");
  });

  test("a turn that resumes during a sweep keeps its messages", async () => {
    const message = inboundMessage({ id: "1" });
    const turn = turnRecord({ messages: [message] });
    await ledger.create("message", "test:1", { state: "taken", body: message, group: turn.conversationId });
    await ledger.create("turn", turn.id, { state: "parked", body: turn, group: turn.conversationId });
    await keepApproval(turn.id);
    const moved = createLatch();
    // Another process resumes it after the running turns were listed and before the parked ones are.
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

  test("a turn whose process died runs before later messages, even if one of those arrives before a sweep", async () => {
    const message = inboundMessage({ id: "1", text: "left behind" });
    const turn = turnRecord({ messages: [message], conversationId: message.conversationId });
    await ledger.create("turn", turn.id, { state: "running", body: turn, group: turn.conversationId });
    const ran: string[][] = [];
    const worker = create({ run: (found) => endNoting(found, ran) });
    await worker.accept(inboundMessage({ id: "2", text: "said later" }));
    await worker.whenIdle();
    expect(ran).toEqual([["left behind"], ["said later"]]);
  });

  test("a suspended turn resumes before messages that arrived in the meantime", async () => {
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

  test("a turn whose record has disappeared fails visibly, because nothing can continue it", async () => {
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

  test("a run that lost its turn to another process can no longer write to it", async () => {
    const turn = turnRecord();
    await ledger.create("turn", turn.id, { state: "running", body: { ...turn, owner: "the new one" }, group: "c" });
    await expect(saveTurn(ledger, { ...turn, owner: "the old one" })).rejects.toThrow("no longer claimed");
    expect((await ledger.get("turn", turn.id))?.body.owner).toBe("the new one");
  });

  test("a lease that is lost while the turn is being created suspends the turn", async () => {
    const lost = new AbortController();
    const leases = leasesUntil(lost.signal);
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

  test("a run that stalled knows that its lease is lost before any event says so", async () => {
    let isLost = false;
    const leases = {
      ...createInMemoryLeases(),
      acquire: async () => ({
        get signal() {
          return isLost ? AbortSignal.abort() : new AbortController().signal;
        },
        release: async () => {},
      }),
    };
    const seen: boolean[] = [];
    const worker = create({
      leases,
      async run(turn, _signal, isLostNow) {
        seen.push(isLostNow());
        isLost = true;
        seen.push(isLostNow());
        return endTurn(turn, "done");
      },
    });
    await worker.accept(inboundMessage({ id: "1" }));
    await worker.whenIdle();
    expect(seen).toEqual([false, true]);
  });

  test("a lost lease suspends the running turn", async () => {
    const lost = new AbortController();
    const leases = leasesUntil(lost.signal);
    const causes: string[] = [];
    const worker = create({
      leases,
      run: async (_turn, signal) => {
        await untilAborted(signal);
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
