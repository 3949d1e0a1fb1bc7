import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Store } from "../../src/ports/store.ts";
import { createRedisStore } from "../../src/storage/keyv/redis-store.ts";
import { createRedisConnection } from "../../src/storage/redis/connection.ts";
import { storeConformance } from "../conformance/store.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

describe.skipIf(missingRedis !== undefined)(`Redis${redisNote}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.dispose());

  let harnesses = 0;
  storeConformance("the Keyv store on Redis", async () => {
    harnesses += 1;
    const prefix = `{test-${harnesses}}:`;
    const connection = createRedisConnection(server.url, silentLog);
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

  test("a read does not delete a new value if this clock runs ahead of the server's", async () => {
    const connection = createRedisConnection(server.url, silentLog);
    const store = createRedisStore({ connection, prefix: "{ahead}:" });
    await store.set("a", 1, 60_000);
    const now = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => now + 61_000);
    await Promise.all([store.get("a"), store.set("a", 2)]);
    expect(await store.get("a")).toBe(2);
    await store.close();
    await connection.close();
  });

  test("keys and values keep the layout that earlier versions wrote", async () => {
    const connection = createRedisConnection(server.url, silentLog);
    const store = createRedisStore({ connection });
    const redis = server.client;
    const value = { list: [1, "two", null], encoded: ":base64:x" };
    const written = '{"value":{"list":[1,"two",null],"encoded":"::base64:x"}}';
    await redis.set("{remora}:store::before", written);
    expect(await store.get("before")).toEqual(value);
    await store.set("after", value);
    expect(await redis.get("{remora}:store::after")).toBe(written);
    expect(await redis.pttl("{remora}:store::after")).toBe(-1);

    const expires = Date.now() + 60_000;
    await redis.set("{remora}:store::expiring", JSON.stringify({ value: "a", expires }), "PX", 60_000);
    expect(await store.get("expiring")).toBe("a");
    await store.set("expiring", "b", 60_000);
    const kept: unknown = JSON.parse((await redis.get("{remora}:store::expiring")) ?? "");
    expect(kept).toEqual({ value: "b", expires: expect.any(Number) });
    expect(await redis.pttl("{remora}:store::expiring")).toBeGreaterThan(50_000);
    await store.delete("expiring");
    expect(await redis.exists("{remora}:store::expiring")).toBe(0);
    await store.close();
    await connection.close();
  });
});
