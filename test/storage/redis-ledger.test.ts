import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { createRedisConnection } from "../../src/storage/redis-connection.ts";
import { createRedisLedger } from "../../src/storage/redis-ledger.ts";
import { ledgerConformance } from "../conformance/ledger.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";

describe.skipIf(missingRedis !== undefined)(`Redis${redisNote}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.dispose());

  let harnesses = 0;
  ledgerConformance("the Redis ledger", async () => {
    harnesses += 1;
    const prefix = `{test-${harnesses}}:`;
    const connection = createRedisConnection(server.url, silentLog);
    return {
      open: () => createRedisLedger({ connection, prefix }),
      dispose: () => connection.close(),
    };
  });
});
