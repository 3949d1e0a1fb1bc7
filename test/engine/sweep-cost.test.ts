/** What a sweep reads depends on what is due, not on how many turns and cards wait for people. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createConversations } from "../../src/engine/conversation/conversations.ts";
import { saveTurn } from "../../src/engine/turn/turn-store.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Bus } from "../../src/ports/cluster.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../src/storage/in-memory-cluster.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { ann, call, hour, person, setUp, target } from "../approvals/approvals-fixture.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

interface Opened {
  ledger: Ledger;
  /** How many entries the ledger has read so far. */
  reads(): Promise<number>;
  close(): Promise<void>;
}

/** Entries and calls that reach the caller. */
function counted(ledger: Ledger): { ledger: Ledger; reads(): Promise<number> } {
  let reads = 0;
  const list: Ledger["list"] = async (...args) => {
    const found = await ledger.list(...args);
    reads += 1 + found.length;
    return found;
  };
  const get: Ledger["get"] = (...args) => {
    reads += 1;
    return ledger.get(...args);
  };
  return { ledger: { ...ledger, list, get }, reads: async () => reads };
}

function sweepCosts(open: () => Promise<Opened>): void {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  async function costOf(work: () => Promise<void>): Promise<number> {
    const before = await opened.reads();
    await work();
    return (await opened.reads()) - before;
  }

  test("open cards cost nothing until one expires or somebody is to be told", async () => {
    const leases = createInMemoryLeases();
    const said: string[] = [];
    const desk = setUp(
      {
        policy: { approvers: ["user:ann"], expiryMs: 4 * hour },
        notify: {
          ...{ where: "thread", atMost: 5, leases, serves: async () => true },
          reach: () => ({
            people: async () => [{ id: ann.id, name: ann.name, isBot: false, isHere: true }],
            roleName: async (id) => id,
            direct: async (id) => `test:dm:${id}`,
            place: async () => ({ name: "#general" }),
          }),
          post: async () => {},
          say: async (_to, { key }) => void said.push(key),
        },
      },
      opened.ledger,
    );
    const { approvals, clock } = desk;
    const sweep = async () => {
      await approvals.sweep(clock.now);
      await approvals.whenIdle();
    };
    const ask = async (name: string) => {
      const { cardId } = await desk.ask(name, call("c1", { command: `rm ${name}` }), {
        requester: person(name),
        target: target(name, { conversationId: `test:${name}` }),
      });
      await approvals.posted(cardId, name, `message-${name}`);
      await approvals.whenIdle();
    };
    await ask("t0");
    await sweep();
    const few = await costOf(sweep);
    for (let count = 1; count < 30; count++) await ask(`t${count}`);
    clock.now += 1_000;
    await sweep();
    expect(await costOf(sweep)).toBe(few);
    clock.now += 3 * hour;
    await sweep();
    expect(said).toHaveLength(30);
    await sweep();
    expect(await costOf(sweep)).toBe(few);
    expect(said).toHaveLength(30);
    clock.now += hour;
    await sweep();
    expect(await approvals.listOpen()).toEqual([]);
    expect(await opened.ledger.list("approval", { states: ["expired"] })).toHaveLength(30);
  });

  test("parked turns cost nothing until one is answered, also if the message on the bus is lost", async () => {
    const { ledger } = opened;
    const bus = createInMemoryBus(silentLog);
    let isLost = false;
    const losing: Bus = { ...bus, publish: (message) => (isLost ? undefined : bus.publish(message)) };
    const ran: string[] = [];
    const worker = createConversations({
      ...{ ledger, bus: losing, events: createEvents(), log: silentLog, leases: createInMemoryLeases() },
      ...{ takesTurns: true, resumeOrphansEveryMs: 5_000, serves: async () => true, overlap: "queue", concurrency: 10 },
      async run(turn) {
        ran.push(turn.id);
        await saveTurn(ledger, turn, "done");
        return "done";
      },
      ...{ onCrash: async () => {}, cancelApprovals: async () => {}, settleDecided: async () => {} },
      ...{ workingFolder: () => "/nowhere", openReply: async () => undefined, lookAgain: async () => {} },
    });
    let now = 1_000_000;
    const sweep = async () => {
      now += 5_000;
      await worker.sweep(now);
      await worker.whenIdle();
    };
    const park = async (id: string) => {
      const message = inboundMessage({ id, conversationId: `test:${id}` });
      const turn = turnRecord({ id, messages: [message], conversationId: `test:${id}` });
      await ledger.create("message", `test:${id}`, { state: "taken", body: message, group: turn.conversationId });
      await ledger.create("turn", id, { state: "parked", body: turn, group: turn.conversationId });
      await ledger.create("approval", `a-${id}`, { state: "open", body: { turnId: id } as never, group: id });
    };
    await park("t0");
    await sweep();
    const few = await costOf(sweep);
    for (let count = 1; count < 30; count++) await park(`t${count}`);
    expect(await costOf(sweep)).toBe(few);
    isLost = true;
    await ledger.transition("approval", "a-t7", ["open"], "denied");
    await worker.wake("t7");
    await worker.whenIdle();
    expect(ran).toEqual([]);
    isLost = false;
    await sweep();
    expect(ran).toEqual(["t7"]);
    expect(await costOf(sweep)).toBe(few);
    await worker.close(AbortSignal.abort());
  });
}

describe("on SQLite", () => {
  sweepCosts(async () => {
    const ledger = createSqliteLedger({ path: ":memory:" });
    return { ...counted(ledger), close: () => ledger.close() };
  });
});

describe.skipIf(missingRedis !== undefined)(`on Redis, by its own count of commands${redisNote}`, () => {
  let server: RedisServer;
  let stores = 0;
  beforeAll(async () => {
    server = await startRedisServer({ persistence: "none" });
  });
  afterAll(() => server?.dispose());

  sweepCosts(async () => {
    stores += 1;
    const connection = createRedisConnection(server.url, silentLog);
    const ledger = await createRedisLedger({ connection, prefix: `{sweeps-${stores}}:` });
    return {
      ledger,
      async reads() {
        const figures = await server.client.info("commandstats");
        const counts = figures.matchAll(/^cmdstat_(?:hmget|hget|hgetall|zrange\w*|smembers):calls=(\d+)/gm);
        return [...counts].reduce((sum, [, calls]) => sum + Number(calls), 0);
      },
      async close() {
        await ledger.close();
        await connection.close();
      },
    };
  });
});
