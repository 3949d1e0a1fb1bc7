import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { abortCauseOf } from "../../src/lib/abort.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLeases, type RedisLeasesOptions } from "../../src/storage/redis/leases.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { startRedisProxy } from "./redis-proxy.ts";

describe.skipIf(missingRedis !== undefined)(`leases on Redis${redisNote}`, () => {
  let server: RedisServer;
  let connections: RedisConnection[];
  beforeEach(async () => {
    server = await startRedisServer();
    connections = [];
  });
  afterEach(async () => {
    for (const connection of connections) await connection.close();
    await server.dispose();
  });

  /** Each is a process of its own. */
  function open(options: Partial<Omit<RedisLeasesOptions, "connection">> = {}, url = server.url) {
    const connection = createRedisConnection(url, silentLog);
    connections.push(connection);
    return { connection, leases: createRedisLeases({ connection, lockMs: 10_000, ...options }) };
  }

  const timeLeft = (name: string) => server.client.pttl(`{remora}:lease:${name}`);
  /** Resolves after the next renewal. It happens once a third of the time is over. */
  async function renewed(name: string, lockMs: number): Promise<void> {
    await vi.waitFor(async () => expect(await timeLeft(name)).toBeLessThan(lockMs * 0.9), lockMs);
    await vi.waitFor(async () => expect(await timeLeft(name)).toBeGreaterThan(lockMs * 0.9), lockMs);
  }
  const aborted = (signal: AbortSignal | undefined) =>
    vi.waitFor(() => expect(signal?.aborted).toBe(true), { timeout: 10_000, interval: 5 });

  test("a lease that is kept is renewed, and outlives its time many times over", async () => {
    const { leases } = open({ lockMs: 2_500 });
    const other = open({ lockMs: 2_500 });
    const lease = await leases.acquire("a");
    const heldFrom = Date.now();
    await vi.waitFor(async () => {
      expect(await other.leases.acquire("a")).toBeUndefined();
      expect(await leases.acquire("a")).toBeUndefined();
      expect(Date.now() - heldFrom).toBeGreaterThan(6_000);
    }, 10_000);
    expect(lease?.signal.aborted).toBe(false);
  });

  test("what a process held that is gone is free once its time is over, and not before", async () => {
    const gone = open({ lockMs: 3_000 });
    const other = open({ lockMs: 3_000 });
    const lease = await gone.leases.acquire("a");
    await gone.connection.close();
    expect(await timeLeft("a")).toBeGreaterThan(0);
    expect(await other.leases.acquire("a")).toBeUndefined();
    await vi.waitFor(async () => expect(await other.leases.acquire("a")).toBeDefined(), {
      timeout: 5_000,
      interval: 5,
    });
    // Not this process's connection but its clock has told it.
    expect(lease?.signal.aborted).toBe(true);
  });

  test("it is lost when somebody else has it, and what was under way counts as suspended, not as stopped", async () => {
    const { leases } = open({ lockMs: 1_000, waitMs: 10_000 });
    const lease = await leases.acquire("a");
    await server.client.set("{remora}:lease:a", "somebody else", "PX", 60_000);
    await aborted(lease?.signal);
    expect(lease === undefined || abortCauseOf(lease.signal)).toBe("shutdown");
    await lease?.release();
    expect(await server.client.get("{remora}:lease:a")).toBe("somebody else");
    expect(await leases.acquire("a")).toBeUndefined();
  });

  test("it is lost when Redis has forgotten it", async () => {
    const { leases } = open({ lockMs: 1_000, waitMs: 10_000 });
    const lease = await leases.acquire("a");
    await server.client.flushall();
    await aborted(lease?.signal);
    expect((await leases.acquire("a"))?.signal.aborted).toBe(false);
  });

  test("it is lost by its own clock while Redis is away", async () => {
    const { leases } = open({ lockMs: 3_000 });
    const lease = await leases.acquire("a");
    await server.kill();
    expect(lease?.signal.aborted).toBe(false);
    await aborted(lease?.signal);
  });

  test("it is lost by its own clock while Redis answers nothing", async () => {
    const { leases } = open({ lockMs: 3_000 });
    const lease = await leases.acquire("a");
    process.kill(server.pid, "SIGSTOP");
    await aborted(lease?.signal);
    process.kill(server.pid, "SIGCONT");
    await vi.waitFor(async () => expect(await leases.acquire("a")).toBeDefined(), 5_000);
  });

  test("it is kept over a restart of Redis that is shorter than its time", async () => {
    const { leases } = open();
    const other = open();
    const lease = await leases.acquire("a");
    const first = await server.client.get("{remora}:lease:a");
    await server.kill();
    await server.start();
    await vi.waitFor(async () => expect(await other.leases.acquire("a")).toBeUndefined(), 5_000);
    await renewed("a", 10_000);
    expect(await server.client.get("{remora}:lease:a")).toBe(first);
    expect(lease?.signal.aborted).toBe(false);
  });

  test("it is lost after the event loop was blocked, at once for whoever looks, and others get it", async () => {
    const { leases } = open({ lockMs: 1_000, waitMs: 10_000 });
    const other = open({ lockMs: 1_000, waitMs: 10_000 });
    const lease = await leases.acquire("a");
    const signal = (await leases.acquire("b"))?.signal;
    const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    block();
    expect(lease?.signal.aborted).toBe(true);
    // Who kept the signal hears from the timer.
    await aborted(signal);
    await vi.waitFor(async () => expect(await other.leases.acquire("a")).toBeDefined(), 5_000);
    expect(await leases.acquire("a")).toBeUndefined();
  });

  test("1,000 are renewed with a few round trips, and all are kept", async () => {
    // So long that a busy machine loses none of them by a stall.
    const lockMs = 12_000;
    const { leases } = open({ lockMs });
    const held = await Promise.all(Array.from({ length: 1_000 }, (_, index) => leases.acquire(`name ${index}`)));
    const calls = async () => {
      const stats = await server.client.info("commandstats");
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const before = await calls();
    for (let round = 0; round < 2; round += 1) await renewed("name 999", lockMs);
    expect((await calls()) - before).toBeLessThanOrEqual(7);
    expect(held.every((lease) => lease?.signal.aborted === false)).toBe(true);
    await leases.close();
    expect(await server.client.keys("{remora}:lease:*")).toEqual([]);
  });

  test("whoever lost the answer to its question has what it was given", async () => {
    const proxy = await startRedisProxy(server);
    const { leases } = open({}, proxy.url);
    await (await leases.acquire("first"))?.release();
    const lost = proxy.loseAnswer("{remora}:lease:a");
    const lease = await leases.acquire("a");
    await lost;
    expect(lease?.signal.aborted).toBe(false);
    expect(await open().leases.acquire("a")).toBeUndefined();
    await lease?.release();
    expect(await timeLeft("a")).toBe(-2);
    await proxy.close();
  });

  test("asking is refused when Redis is away, and giving back is not", async () => {
    const { leases } = open({ waitMs: 100 });
    // A busy machine can take longer.
    const lease = await vi.waitFor(() => leases.acquire("a"));
    await server.kill();
    await lease?.release();
    await expect(leases.acquire("b")).rejects.toMatchObject({ code: "storage.unreachable", isRetryable: true });
    await server.start();
    await vi.waitFor(async () => expect(await leases.acquire("b")).toBeDefined(), 5_000);
  });

  test("after closing nothing is given, and what was held is lost", async () => {
    const { leases } = open();
    const lease = await leases.acquire("a");
    await leases.close();
    expect(lease?.signal.aborted).toBe(true);
    expect(await timeLeft("a")).toBe(-2);
    await expect(leases.acquire("a")).rejects.toMatchObject({ code: "storage.closed" });
  });

  test("one that is given while it is closed is given back", async () => {
    const { leases } = open();
    await (await leases.acquire("a"))?.release();
    const asked = leases.acquire("a");
    await leases.close();
    await expect(asked).rejects.toMatchObject({ code: "storage.closed" });
    await vi.waitFor(async () => expect(await timeLeft("a")).toBe(-2));
  });

  test("a restart of Redis forgets the scripts, and they are sent again", async () => {
    const { leases } = open();
    const lease = await leases.acquire("a");
    await server.client.script("FLUSH");
    await lease?.release();
    expect(await leases.acquire("a")).toBeDefined();
  });
});
