import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { BusMessage } from "../../src/ports/cluster.ts";
import type { Store } from "../../src/ports/store.ts";
import { createRedisStore } from "../../src/storage/keyv/redis-store.ts";
import { createRedisBus } from "../../src/storage/redis/bus.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLeases } from "../../src/storage/redis/leases.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { coordinationConformance } from "../conformance/cluster.ts";
import { ledgerConformance } from "../conformance/ledger.ts";
import { storeConformance } from "../conformance/store.ts";
import { missingRedis, redisNote } from "../doubles/redis-server.ts";
import { recordingLog } from "./redis-log.ts";
import { type RedisCluster, type RedisSentinel, startRedisCluster, startRedisSentinel } from "./redis-topologies.ts";

const lockMs = 10_000;

const body = { turnId: "turn", callId: "call", name: "tool", attempts: 0, startedAt: 1 };
const planned = { state: "planned" as const, body, group: "turn" };
const never = new AbortController().signal;

/** Every port on a Redis that is reached by `url`, under a prefix (and so in a slot) of its own each time. */
function conformance(name: string, url: () => string): void {
  let harnesses = 0;
  const nextPrefix = () => {
    harnesses += 1;
    return `{${name}-${harnesses}}:`;
  };

  ledgerConformance(`the ledger on ${name}`, async () => {
    const connection = createRedisConnection(url(), silentLog);
    const prefix = nextPrefix();
    return { open: () => createRedisLedger({ connection, prefix }), dispose: () => connection.close() };
  });

  storeConformance(`the store on ${name}`, async () => {
    const connection = createRedisConnection(url(), silentLog);
    const prefix = nextPrefix();
    const opened: Store[] = [];
    return {
      async open() {
        const store = createRedisStore({ connection, prefix });
        opened.push(store);
        return store;
      },
      async dispose() {
        await Promise.all(opened.map((store) => store.close()));
        await connection.close();
      },
    };
  });

  coordinationConformance(`leases and bus on ${name}`, { isSole: false }, async () => {
    const opened: RedisConnection[] = [];
    const prefix = nextPrefix();
    return {
      open() {
        const connection = createRedisConnection(url(), silentLog);
        opened.push(connection);
        return {
          leases: createRedisLeases({ connection, prefix, lockMs }),
          bus: createRedisBus({ connection, prefix, log: silentLog }),
        };
      },
      async dispose() {
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  });
}

describe.skipIf(missingRedis !== undefined)(`a Redis cluster of two${redisNote}`, () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(2);
  });
  afterAll(() => cluster?.dispose());

  conformance("a cluster", () => cluster.url);

  test("it is ready, its nodes are looked at one by one, and BullMQ gets clusters too", async () => {
    const connection = createRedisConnection(cluster.url, silentLog);
    await connection.whenReady(never);
    expect(connection.health()).toEqual({ isConnected: true, detail: cluster.url });
    expect(await connection.checks()).toEqual([]);
    const [, second] = cluster.nodes;
    await second?.client.config("SET", "maxmemory-policy", "allkeys-lru");
    expect(await connection.checks()).toEqual([expect.stringMatching(`^127.0.0.1:${second?.port}: .*allkeys-lru`)]);
    await second?.client.config("SET", "maxmemory-policy", "noeviction");
    expect(await connection.forBullMq("worker").set("{x}:y", "1")).toBe("OK");
    await connection.close();
  });

  test("a node that is killed and started again is waited for, and nothing that was acknowledged is lost", async () => {
    const connection = createRedisConnection(cluster.url, silentLog);
    const store = createRedisStore({ connection });
    const prefixes = ["{a}:", "{b}:", "{c}:", "{d}:"];
    const ledgers = await Promise.all(prefixes.map((prefix) => createRedisLedger({ connection, prefix })));
    for (const ledger of ledgers) expect(await ledger.create("call", "before", planned)).toBe(true);
    await store.set("before", 1);
    for (const node of cluster.nodes) {
      await node.kill();
      const working = ledgers.map((ledger) => ledger.create("call", `during ${node.port}`, planned));
      const storing = store.set(`during ${node.port}`, 1);
      await node.start();
      expect(await Promise.all(working)).toEqual(ledgers.map(() => true));
      await storing;
    }
    for (const ledger of ledgers) expect(await ledger.list("call", {})).toHaveLength(3);
    expect(await store.get("before")).toBe(1);
    await store.close();
    await connection.close();
  });

  test("the bus is heard again after each node was killed and started again", async () => {
    const [one, two] = [1, 2].map(() => {
      const connection = createRedisConnection(cluster.url, silentLog);
      return { connection, bus: createRedisBus({ connection, log: silentLog }) };
    });
    const heard: BusMessage[] = [];
    two?.bus.listen((message) => heard.push(message));
    const hears = () =>
      vi.waitFor(() => {
        one?.bus.publish({ type: "work", conversationId: "c" });
        expect(heard.length).toBeGreaterThan(0);
      }, 10_000);
    await hears();
    for (const node of cluster.nodes) {
      await node.kill();
      await node.start();
      heard.length = 0;
      await hears();
    }
    await one?.connection.close();
    await two?.connection.close();
  });

  test("whoever takes one node of it for a server of its own is told", async () => {
    const [first, second] = cluster.nodes;
    const urls = [first?.url ?? "", second?.url ?? ""];
    const answers = await Promise.all(
      urls.map(async (url) => {
        const connection = createRedisConnection(url, silentLog);
        const ledger = await createRedisLedger({ connection }).catch((thrown: unknown) => thrown);
        await connection.close();
        return ledger;
      }),
    );
    expect(answers).toContainEqual(
      expect.objectContaining({ code: "storage.cluster", message: expect.stringContaining("redis+cluster://") }),
    );
  });

  test("while it is away at the start it is waited for, and the log says why", async () => {
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    const { log, entries } = recordingLog();
    const connection = createRedisConnection(cluster.url, log);
    const store = createRedisStore({ connection });
    const reading = store.get("a");
    const ready = connection.whenReady(never);
    const warned = { level: "warn", fields: { error: expect.stringContaining("ECONNREFUSED") } };
    await vi.waitFor(() => expect(entries).toMatchObject([warned]), 10_000);
    await Promise.all(cluster.nodes.map((node) => node.start()));
    await ready;
    expect(await reading).toBeUndefined();
    await store.close();
    await connection.close();
  });
});

describe.skipIf(missingRedis !== undefined)(`a Redis behind a sentinel${redisNote}`, () => {
  let sentinel: RedisSentinel;
  let opened: RedisConnection[];
  let store: Store | undefined;
  beforeEach(() => {
    opened = [];
    store = undefined;
  });
  afterEach(async () => {
    await store?.close();
    for (const connection of opened) await connection.close();
    await sentinel?.dispose();
  });
  const connect = (url = sentinel.url, log = silentLog) => {
    const connection = createRedisConnection(url, log);
    opened.push(connection);
    return connection;
  };

  test("everything finds the primary through it", async () => {
    sentinel = await startRedisSentinel();
    const connection = connect();
    const bus = createRedisBus({ connection, log: silentLog });
    store = createRedisStore({ connection });
    const ledger = await createRedisLedger({ connection });
    expect(await ledger.create("call", "a", planned)).toBe(true);
    await store.set("a", 1);
    expect(await store.get("a")).toBe(1);
    expect(await createRedisLeases({ connection, lockMs }).acquire("a")).toBeDefined();
    expect(await sentinel.primary.client.exists("{remora}:lease:a", "{remora}:ledger:entry:call:a")).toBe(2);
    const heard: BusMessage[] = [];
    createRedisBus({ connection: connect(), log: silentLog }).listen((message) => heard.push(message));
    await vi.waitFor(() => {
      bus.publish({ type: "work", conversationId: "c" });
      expect(heard.length).toBeGreaterThan(0);
    }, 5_000);
    expect(await connection.checks()).toEqual([]);
  });

  test("with a password on the servers and on the sentinel", async () => {
    sentinel = await startRedisSentinel("hunter2-hunter2");
    const connection = connect();
    store = createRedisStore({ connection });
    const ledger = await createRedisLedger({ connection });
    expect(await ledger.create("call", "a", planned)).toBe(true);
    await store.set("a", 1);
    expect(await store.get("a")).toBe(1);
    expect(JSON.stringify(connection.health())).not.toContain("hunter2");
  });

  test("when the primary dies, work goes on with the replica", async () => {
    sentinel = await startRedisSentinel();
    const connection = connect();
    store = createRedisStore({ connection });
    const ledger = await createRedisLedger({ connection });
    const leases = createRedisLeases({ connection, lockMs });
    await ledger.create("call", "before", planned);
    await store.set("before", 1);
    await sentinel.primary.client.wait(1, 5_000);
    await sentinel.primary.kill();
    expect(await ledger.transition("call", "before", ["planned"], "done")).toMatchObject({ state: "done" });
    expect(await ledger.create("call", "after", planned)).toBe(true);
    await vi.waitFor(async () => expect(await leases.acquire("a")).toBeDefined(), 10_000);
    await store.set("after", 2);
    expect(await store.get("before")).toBe(1);
    expect(await sentinel.replica.client.exists("{remora}:ledger:entry:call:after", "{remora}:store::after")).toBe(2);
  });

  test("a primary that is made a replica is left for the new one", async () => {
    sentinel = await startRedisSentinel();
    const connection = connect();
    store = createRedisStore({ connection });
    const ledger = await createRedisLedger({ connection });
    await ledger.create("call", "before", planned);
    await store.set("before", 1);
    // The sentinel refuses until it knows that the replica is in sync.
    await vi.waitFor(() => sentinel.sentinel.client.call("SENTINEL", "failover", "mymaster"), 20_000);
    await vi.waitFor(
      async () => expect(await sentinel.replica.client.info("replication")).toContain("role:master"),
      20_000,
    );
    // As the sentinel will, but without cutting our connections: the refused write tells us.
    await sentinel.primary.client.replicaof(sentinel.replica.host, sentinel.replica.port);
    expect(await ledger.create("call", "after", planned)).toBe(true);
    await vi.waitFor(async () => {
      await store?.set("after", 2);
      expect(await sentinel.replica.client.exists("{remora}:ledger:entry:call:after", "{remora}:store::after")).toBe(2);
    }, 20_000);
  });

  test("sentinels that can't be reached are waited for, and the log says why", async () => {
    sentinel = await startRedisSentinel();
    await sentinel.sentinel.kill();
    const { log, entries } = recordingLog();
    const connection = connect(sentinel.url, log);
    const ready = connection.whenReady(never);
    const warned = { level: "warn", fields: { error: expect.stringContaining("ECONNREFUSED") } };
    await vi.waitFor(() => expect(entries).toMatchObject([warned]), 10_000);
    await sentinel.sentinel.start();
    await ready;
  });

  test("a master that the sentinel does not know is waited for, and the log says so", async () => {
    sentinel = await startRedisSentinel();
    const { log, entries } = recordingLog();
    connect(sentinel.url.replace("mymaster", "theirs"), log);
    await vi.waitFor(() =>
      expect(entries).toMatchObject([
        {
          level: "warn",
          message: expect.stringContaining("/theirs/0"),
          fields: { error: expect.stringContaining("No such master") },
        },
      ]),
    );
  });
});
