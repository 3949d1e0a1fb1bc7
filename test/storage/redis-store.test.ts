import { afterAll, beforeAll, describe } from "vitest";
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
});
