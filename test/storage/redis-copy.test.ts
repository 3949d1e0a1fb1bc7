/** What Redis holds comes back from a backup: the ledger as of one moment, the store, and nothing half. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisStore } from "../../src/storage/keyv/redis-store.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { openRedisCopy, type RedisCopy } from "../../src/storage/redis/copy.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

describe.skipIf(missingRedis !== undefined)(`copying Redis${redisNote}`, () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let folder: string;
  const prefix = "{re*ora}:";
  const copyOf = (name: string): Promise<RedisCopy> =>
    openRedisCopy(
      { url: server.url, prefix: name, lockMs: 10_000, waitMs: 5_000, journals: folder },
      silentLog,
      AbortSignal.timeout(60_000),
    );

  beforeAll(async () => {
    server = await startRedisServer({ persistence: "none" });
    connection = createRedisConnection(server.url, silentLog);
    folder = await mkdtemp(join(tmpdir(), "remora-copy-"));
  });
  beforeEach(() => server.client.flushall());
  afterAll(async () => {
    await connection.close();
    await server.dispose();
    await rm(folder, { recursive: true });
  });

  async function exportTo(name: string): Promise<void> {
    const copy = await copyOf(name);
    for await (const { name: file, lines } of copy.export()) await writeFile(join(folder, file), lines.join(""));
    await copy.close();
  }

  test("entries, their order, their indexes and the store's values come back", async () => {
    const ledger = await createRedisLedger({ connection, prefix });
    const store = createRedisStore({ connection, prefix });
    for (let number = 0; number < 450; number++)
      await ledger.create("skill-switch", `skill-${number}`, { state: "on", body: {}, group: number % 2 ? "odd" : "" });
    await ledger.transition("skill-switch", "skill-7", ["on"], "off");
    await ledger.create("grant", "g", { state: "active", body: { expiresAt: 5 } as never, group: "" });
    await ledger.create("message", "m", { state: "answered", body: {} as never, group: "" });
    await server.client.hset(`${prefix}ledger:entry:message:m`, { body: "", journal: "2026-11-22 0 9" });
    await store.set("history:a", { text: "Line\u2028 break\n and “quotes”" });
    await store.set("short", "x", 60_000);
    const entries = await ledger.list("skill-switch", {});
    await exportTo("re*ora");
    await server.client.flushall();
    await server.client.set("{re-ora}:other", "another installation");

    const copy = await copyOf("re*ora");
    await copy.checkEmpty();
    await copy.stage(folder);
    expect(await ledger.list("skill-switch", {})).toEqual([]);
    await copy.name();
    await copy.name();
    await copy.close();
    expect(await ledger.list("skill-switch", {})).toEqual(entries);
    expect((await ledger.list("grant", { dueBefore: 6 })).map(({ id }) => id)).toEqual(["g"]);
    expect(await server.client.hget(`${prefix}ledger:entry:message:m`, "journal")).toBe("2026-11-22 0 9");
    expect((await ledger.list("skill-switch", { states: ["off"], group: "odd" })).map(({ id }) => id)).toEqual([
      "skill-7",
    ]);
    expect(await ledger.transition("skill-switch", "skill-8", ["on"], "off", (body) => body)).toMatchObject({
      state: "off",
    });
    await ledger.create("skill-switch", "later", { state: "on", body: {}, group: "" });
    expect((await ledger.list("skill-switch", { order: "newest", limit: 1 }))[0]?.id).toBe("later");
    expect(await store.get("history:a")).toEqual({ text: "Line\u2028 break\n and “quotes”" });
    expect(await server.client.pttl(`${prefix}store::short`)).toBeGreaterThan(1_000);
    expect(await server.client.keys("*restoring*")).toEqual([]);
    await ledger.close();
  });

  test("the ledger is of one moment, while entries are changed in pairs", async () => {
    const ledger = await createRedisLedger({ connection, prefix: "{pairs}:" });
    for (const id of ["first", "second"])
      await ledger.create("inbox", id, { state: "kept", body: { count: 0 } as never, group: "" });
    let isDone = false;
    const writing = (async () => {
      for (let count = 1; !isDone; count++)
        for (const id of ["first", "second"])
          await ledger.transition("inbox", id, ["kept"], "kept", () => ({ count }) as never);
    })();
    const copy = await copyOf("pairs");
    for (let round = 0; round < 50; round++) {
      for await (const { name, lines } of copy.export()) {
        if (name !== "ledger.jsonl") continue;
        const counts = lines.slice(1).map((line) => JSON.parse(JSON.parse(line)[3]).count as number);
        expect(counts).toHaveLength(2);
        // The first is written before the second, so it may only be one ahead.
        expect([0, 1]).toContain((counts[0] ?? 0) - (counts[1] ?? 0));
      }
    }
    isDone = true;
    await writing;
    await copy.close();
    await ledger.close();
  });

  test("keys that are there, and a running process, are never mixed with", async () => {
    const copy = await copyOf("used");
    await server.client.set("{used}:store::a", "1");
    await expect(copy.checkEmpty()).rejects.toThrow("Set another redis.prefix");
    await server.client.set("{used}:lease:page", "1");
    await expect(copy.checkEmpty()).rejects.toThrow("a Remora is running");
    await copy.close();
  });
});
