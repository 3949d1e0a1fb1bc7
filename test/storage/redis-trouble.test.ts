import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Store } from "../../src/ports/store.ts";
import { createRedisStore } from "../../src/storage/keyv/redis-store.ts";
import {
  createRedisConnection,
  type RedisConnection,
  type RedisConnectionOptions,
} from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

const body = { turnId: "turn", callId: "call", name: "tool", attempts: 0, startedAt: 1 };
const planned = { state: "planned" as const, body, group: "turn" };
const countUp = (was: typeof body) => ({ ...was, attempts: was.attempts + 1 });

describe.skipIf(missingRedis !== undefined)(`trouble with Redis${redisNote}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let store: Store;
  const open = (options?: RedisConnectionOptions) => {
    connection = createRedisConnection(server.url, silentLog, options);
    store = createRedisStore({ connection });
  };
  const openLedger = () => createRedisLedger({ connection });

  afterEach(async () => {
    await store?.close();
    await connection?.close();
    await server?.dispose();
  });

  describe("killed and started again", () => {
    test("nothing that was acknowledged is lost, and nothing happens twice", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await ledger.create("call", "counter", { ...planned, state: "started" });
      const acknowledged: string[] = [];
      const working = (async () => {
        for (let number = 0; number < 300; number += 1) {
          const id = `k${number}`;
          expect(await ledger.create("call", id, planned)).toBe(true);
          expect(await ledger.transition("call", id, ["planned"], "waiting")).toMatchObject({ id, state: "waiting" });
          expect(await ledger.transition("call", id, ["waiting"], "done", countUp)).toMatchObject({ state: "done" });
          await ledger.transition("call", "counter", ["started"], "started", countUp);
          acknowledged.push(id);
        }
      })();
      for (const count of [30, 100, 200]) {
        await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(count), 10_000);
        await server.kill();
        await server.start();
      }
      await working;
      const kept = await ledger.list("call", { states: ["done"] });
      expect(kept.map((entry) => entry.id)).toEqual(acknowledged);
      expect(kept.every((entry) => entry.body.attempts === 1)).toBe(true);
      expect(await ledger.list("call", { states: ["planned", "waiting"] })).toEqual([]);
      expect((await ledger.get("call", "counter"))?.body.attempts).toBe(300);
    });

    test("the store goes on, and keeps what it was given", async () => {
      server = await startRedisServer();
      open();
      await store.set("before", 1);
      await server.kill();
      const waiting = store.set("during", 2);
      await server.start();
      await waiting;
      expect(await store.get("before")).toBe(1);
      expect(await store.get("during")).toBe(2);
    });

    test("a server without persistence starts empty, and the ledger begins anew instead of failing", async () => {
      server = await startRedisServer({ persistence: "none" });
      open();
      const ledger = await openLedger();
      await ledger.create("call", "a", planned);
      await server.kill();
      await server.start();
      expect(await ledger.get("call", "a")).toBeUndefined();
      expect(await ledger.create("call", "a", planned)).toBe(true);
      expect(await server.client.get("{remora}:ledger:version")).toBe("3");
    });
  });

  describe("away", () => {
    test("the ledger and the store wait up to the bound, and then say so", async () => {
      server = await startRedisServer();
      open({ waitMs: 1_000 });
      const ledger = await openLedger();
      await store.set("a", 1);
      await server.kill();
      const unreachable = { code: "storage.unreachable", isRetryable: true };
      const refused = await Promise.allSettled([
        ledger.create("call", "a", planned),
        ledger.transition("call", "a", ["planned"], "done", countUp),
        ledger.list("call", {}),
        store.get("a"),
        store.set("a", 2),
        store.delete("a"),
      ]);
      for (const outcome of refused) expect(outcome).toMatchObject({ status: "rejected", reason: unreachable });
      await server.start();
      await vi.waitFor(async () => expect(await ledger.get("call", "a")).toBeUndefined(), 5_000);
      await vi.waitFor(async () => expect(await store.get("a")).toBe(1), 5_000);
    });

    test("at the start the ledger waits for it too", async () => {
      server = await startRedisServer();
      await server.stop();
      open();
      const opening = openLedger();
      const reading = store.get("a");
      await server.start();
      expect(await (await opening).create("call", "a", planned)).toBe(true);
      expect(await reading).toBeUndefined();
    });

    test("closing does not wait for it, and what waits is refused", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await store.set("a", 1);
      await server.kill();
      const waiting = Promise.allSettled([store.get("a"), ledger.get("call", "a")]);
      await store.close();
      await connection.close();
      for (const outcome of await waiting) {
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: "storage.closed" } });
      }
    });

    test("closing ends what is under way on a server that answers nothing", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await store.set("a", 1);
      process.kill(server.pid, "SIGSTOP");
      const waiting = Promise.allSettled([store.get("a"), ledger.get("call", "a")]);
      await store.close();
      await connection.close();
      for (const outcome of await waiting) {
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: "storage.closed" } });
      }
    });

    test("slow is not away", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await store.set("a", 1);
      await server.client.client("PAUSE", 300, "WRITE");
      const [isCreated] = await Promise.all([ledger.create("call", "a", planned), store.set("a", 2)]);
      expect(isCreated).toBe(true);
      expect(await store.get("a")).toBe(2);
    });

    test("still reading its data after a start is waited for", async () => {
      // 10 ms for each key that is read again.
      const slowly = ["--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024"];
      server = await startRedisServer({ args: slowly });
      open();
      const ledger = await openLedger();
      for (let number = 0; number < 100; number += 1) await ledger.create("call", `k${number}`, planned);
      await server.client.bgrewriteaof();
      await vi.waitFor(async () => {
        const info = await server.client.info("persistence");
        expect(info).toMatch(/aof_rewrite_in_progress:0[\s\S]*aof_last_bgrewrite_status:ok/);
        expect(info).toContain("aof_rewrite_scheduled:0");
      });
      await server.kill();
      const started = server.start();
      const probe = new Redis({ port: server.port, enableReadyCheck: false, retryStrategy: () => 20 });
      probe.on("error", () => undefined);
      await vi.waitFor(() => expect(probe.get("a")).rejects.toThrow("LOADING"), 5_000);
      probe.disconnect();
      expect(await ledger.list("call", {})).toHaveLength(100);
      await started;
    });
  });

  describe("out of memory", () => {
    test("a write is refused as a whole, reading and pruning go on, and later all is well again", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      for (const id of ["a", "b"]) await ledger.create("call", id, planned);
      const before = await ledger.list("call", {});
      const keys = (await server.client.keys("*")).sort();
      await server.client.config("SET", "maxmemory", "1mb");
      const full = { code: "storage.full", isRetryable: true, message: expect.stringContaining("maxmemory") };
      await expect(ledger.create("call", "c", planned)).rejects.toMatchObject(full);
      await expect(ledger.transition("call", "a", ["planned"], "done")).rejects.toMatchObject(full);
      await expect(ledger.transition("call", "a", ["planned"], "done", countUp)).rejects.toMatchObject(full);
      await expect(store.set("a", 1)).rejects.toMatchObject(full);
      expect((await server.client.keys("*")).sort()).toEqual(keys);
      expect(await ledger.list("call", {})).toEqual(before);
      expect(await ledger.prune("call", ["planned"], Date.now() + 60_000)).toBe(2);
      await server.client.config("SET", "maxmemory", "0");
      expect(await ledger.create("call", "c", planned)).toBe(true);
      expect((await ledger.list("call", {})).map((entry) => entry.id)).toEqual(["c"]);
    });

    test("from the start on, the ledger says so with its first write", async () => {
      server = await startRedisServer({ args: ["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"] });
      open();
      const ledger = await openLedger();
      await expect(ledger.create("call", "a", planned)).rejects.toMatchObject({ code: "storage.full" });
      expect(await ledger.get("call", "a")).toBeUndefined();
      expect(await server.client.keys("*")).toEqual([]);
    });
  });

  describe("a replica", () => {
    test("is read, and says what to do when something is written", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await ledger.create("call", "a", planned);
      await store.set("a", 1);
      await server.client.replicaof("127.0.0.1", "1");
      const readOnly = { code: "storage.read-only", isRetryable: true, message: expect.stringContaining("REDIS_URL") };
      await expect(ledger.create("call", "b", planned)).rejects.toMatchObject(readOnly);
      await expect(ledger.transition("call", "a", ["planned"], "done", countUp)).rejects.toMatchObject(readOnly);
      await expect(store.set("a", 2)).rejects.toMatchObject(readOnly);
      expect(await ledger.get("call", "a")).toMatchObject({ state: "planned" });
      expect(await store.get("a")).toBe(1);
      await server.client.replicaof("NO", "ONE");
      expect(await ledger.transition("call", "a", ["planned"], "done", countUp)).toMatchObject({ state: "done" });
      await store.set("a", 2);
    });
  });

  describe("a server that can't save", () => {
    test("takes no writes, and what to do is said", async () => {
      server = await startRedisServer({ args: ["--save", "3600 1"] });
      open();
      const ledger = await openLedger();
      const [, folder = ""] = (await server.client.config("GET", "dir")) as string[];
      await mkdir(join(folder, "dump.rdb"));
      await server.client.bgsave();
      await vi.waitFor(
        async () => expect(await server.client.info("persistence")).toContain("last_bgsave_status:err"),
        5_000,
      );
      const refused = { code: "storage.cannot-save", isRetryable: true, message: expect.stringContaining("disk") };
      await expect(ledger.create("call", "a", planned)).rejects.toMatchObject(refused);
      await expect(store.set("a", 1)).rejects.toMatchObject(refused);
      await server.client.config("SET", "stop-writes-on-bgsave-error", "no");
      expect(await ledger.create("call", "a", planned)).toBe(true);
    });

    test("one that misses its replicas takes no writes either", async () => {
      server = await startRedisServer();
      open();
      const ledger = await openLedger();
      await server.client.config("SET", "min-replicas-to-write", "1");
      await expect(ledger.create("call", "a", planned)).rejects.toMatchObject({ code: "storage.no-replicas" });
      await server.client.config("SET", "min-replicas-to-write", "0");
      expect(await ledger.create("call", "a", planned)).toBe(true);
    });
  });

  describe("who is not let in", () => {
    test("hears so at once, from the ledger and from the store", async () => {
      server = await startRedisServer({ password: "hunter2-hunter2" });
      connection = createRedisConnection(`redis://:hunter2-wrong@${server.host}:${server.port}`, silentLog);
      store = createRedisStore({ connection });
      const denied = {
        code: "storage.denied",
        isRetryable: false,
        message: expect.not.stringContaining("hunter2"),
      };
      await expect(openLedger()).rejects.toMatchObject(denied);
      await expect(store.get("a")).rejects.toMatchObject(denied);
      await server.client.config("SET", "requirepass", "hunter2-wrong");
      await vi.waitFor(async () => expect(await store.get("a")).toBeUndefined(), 5_000);
    });

    test("with rights on the prefix alone everything works, and without them it is said", async () => {
      server = await startRedisServer();
      await server.client.acl("SETUSER", "remora", "on", ">secret-secret", "~{remora}:*", "&{remora}:*", "+@all");
      connection = createRedisConnection(`redis://remora:secret-secret@${server.host}:${server.port}`, silentLog);
      store = createRedisStore({ connection });
      const ledger = await openLedger();
      expect(await ledger.create("call", "a", planned)).toBe(true);
      expect(await ledger.prune("call", ["planned"], Date.now() + 60_000)).toBe(1);
      await store.set("a", 1, 10_000);
      expect(await store.get("a")).toBe(1);
      await expect(createRedisLedger({ connection, prefix: "{other}:" })).rejects.toMatchObject({
        code: "storage.denied",
        message: expect.stringContaining("prefix"),
      });
    });
  });

  test("a value of the store that can't be read is named as damage, counts as missing, and can be replaced", async () => {
    server = await startRedisServer();
    open();
    const noted: string[] = [];
    const damaged = { note: (kind: string, id: string) => noted.push(`${kind} ${id}`) };
    const store = createRedisStore({ connection, damaged });
    await store.set("a", 1);
    for (const text of ["{", "null"]) {
      await server.client.set("{remora}:store::a", text);
      expect(await store.get("a")).toBeUndefined();
    }
    expect(noted).toEqual(["store a", "store a"]);
    await store.set("a", 2);
    expect(await store.get("a")).toBe(2);
    await store.close();
  });

  test("a store under a prefix of its own sees nothing of another, and leaves no key outside", async () => {
    server = await startRedisServer();
    open();
    const other = createRedisStore({ connection, prefix: "{other}:" });
    await store.set("a", 1);
    await other.set("a", 2, 60_000);
    expect(await store.get("a")).toBe(1);
    expect((await server.client.keys("*")).sort()).toEqual(["{other}:store::a", "{remora}:store::a"]);
    expect(await server.client.pttl("{other}:store::a")).toBeGreaterThan(50_000);
    await other.close();
  });
});
