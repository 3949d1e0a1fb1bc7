/** How messages become turns: in what order turns run, how they park, and what happens to messages during a turn. */
import { describe, expect, test } from "vitest";
import { statusCommand } from "../../src/commands/status-command.ts";
import { abortCauseOf } from "../../src/lib/abort.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Conversations } from "../../src/ports/conversation.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { requesterOf, type TurnRecord } from "../../src/ports/turn.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import {
  create,
  createHeld,
  createLatch,
  endNoting,
  endTurn,
  keepApproval,
  ledger,
  messageOf,
  textsOf,
  untilAborted,
  useLedger,
} from "./conversations-world.ts";

useLedger();

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

  test("messages that arrive during a turn are merged into the next one, in order", async () => {
    const { conversations, ran, release } = await createHeld();
    await conversations.accept(inboundMessage({ id: "2", text: "two" }));
    await conversations.accept(inboundMessage({ id: "3", text: "three" }));
    release();
    await conversations.whenIdle();
    expect(ran.map(textsOf)).toEqual([["one"], ["two", "three"]]);
  });

  test("messages of several people become a turn for each person, in order, so that nobody's rights count for another's request", async () => {
    const { conversations, ran, release } = await createHeld();
    const said = ["ann", "ben", "ben", "ann", "carl"];
    for (const [index, id] of said.entries()) await conversations.accept(messageOf(id, `${index + 2}`));
    release();
    await conversations.whenIdle();
    expect(ran.map((turn) => [requesterOf(turn).id, textsOf(turn)])).toEqual([
      ["ann", ["one"]],
      ["ann", ["2"]],
      ["ben", ["3", "4"]],
      ["ann", ["5"]],
      ["carl", ["6"]],
    ]);
  });

  test("a message that arrives just as its conversation becomes idle is not left behind", async () => {
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

  test("a message that is fetched after a newer one arrived still comes first", async () => {
    const { conversations, ran, release } = await createHeld(inboundMessage({ id: "1", text: "one", at: 1_000 }));
    await conversations.accept(inboundMessage({ id: "3", text: "three", at: 3_000 }));
    await conversations.accept(inboundMessage({ id: "2", text: "two", at: 2_000 }));
    release();
    await conversations.whenIdle();
    expect(ran.map(textsOf)).toEqual([["one"], ["two", "three"]]);
  });

  test("an undelivered turn is tried again, and later messages of the conversation wait for it", async () => {
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
    await conversations.whenIdle();
    expect(ran).toEqual([["one"], ["one"], ["one"], ["two"]]);
    expect(await ledger.list("message", { states: ["answered"] })).toHaveLength(2);
  });

  test("turns of one conversation never overlap, and no more turns than the limit run at once", async () => {
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
  test("a parked turn does not hold up its conversation, and an answer resumes it", async () => {
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
describe("overlap", () => {
  test("interrupt ends the running turn in favour of the newer message", async () => {
    const causes: string[] = [];
    const ran: string[] = [];
    const conversations = create({
      overlap: "interrupt",
      async run(turn, signal) {
        ran.push(...textsOf(turn));
        if (ran.length > 1) return endTurn(turn, "done");
        await untilAborted(signal);
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

  test("interrupt does not end somebody else's turn, and steer does not take other people's messages", async () => {
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

  test("interrupt does not end the message's own turn, begun by another process", async () => {
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

  test("steer gives messages that arrive during a turn to that turn, once", async () => {
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

  test("a run that lost its turn to another process takes no new messages", async () => {
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
