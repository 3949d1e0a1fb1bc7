import { afterAll, beforeAll, describe } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { createRedisBus } from "../../src/storage/redis/bus.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLeases } from "../../src/storage/redis/leases.ts";
import { coordinationConformance } from "../conformance/cluster.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

describe.skipIf(missingRedis !== undefined)(`Redis${redisNote}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.dispose());

  let harnesses = 0;
  coordinationConformance("leases and bus on Redis", { isSole: false }, async () => {
    harnesses += 1;
    const prefix = `{test-${harnesses}}:`;
    const opened: RedisConnection[] = [];
    return {
      open() {
        const connection = createRedisConnection(server.url, silentLog);
        opened.push(connection);
        return {
          leases: createRedisLeases({ connection, prefix, lockMs: 10_000 }),
          bus: createRedisBus({ connection, prefix, log: silentLog }),
        };
      },
      async dispose() {
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  });
});
