import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Toolbox, ToolQueue } from "../../src/ports/tool.ts";
import { createInMemoryBus } from "../../src/storage/in-memory-cluster.ts";
import { createRedisConnection, type RedisConnection } from "../../src/storage/redis/connection.ts";
import { createRedisLedger } from "../../src/storage/redis/ledger.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createBullQueue } from "../../src/tool-queue/bullmq/queue.ts";
import { queueConformance } from "../conformance/queue.ts";
import { queueInterruptions } from "../conformance/queue-interruptions.ts";
import type { QueueHarness } from "../conformance/queue-world.ts";
import { createRecordedAudit } from "../doubles/audit.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { type RedisProxy, startRedisProxy } from "../storage/redis-proxy.ts";
import { quickTiming } from "./bull-world.ts";

describe.skipIf(missingRedis !== undefined)(`the queue on BullMQ${redisNote}`, () => {
  let server: RedisServer;
  let direct: RedisConnection;
  beforeAll(async () => {
    server = await startRedisServer();
    direct = createRedisConnection(server.url, silentLog);
  });
  afterAll(async () => {
    await direct.close();
    await server.dispose();
  });

  const onSqlite = async () => {
    const folder = await mkdtemp(join(tmpdir(), "remora-queue-ledger-"));
    const path = join(folder, "ledger.db");
    const ledgers = [createSqliteLedger({ path })];
    const open = async () => {
      const ledger = createSqliteLedger({ path });
      ledgers.push(ledger);
      return ledger;
    };
    const { dispose, ...harness } = await createHarness(open);
    return {
      ...harness,
      async dispose() {
        await dispose();
        await Promise.all(ledgers.map((ledger) => ledger.close()));
        await rm(folder, { recursive: true });
      },
    };
  };
  const onRedis = () => {
    const prefix = `{${randomUUID()}}:`;
    return createHarness(() => createRedisLedger({ connection: direct, prefix }));
  };
  for (const describeQueue of [queueConformance, queueInterruptions]) {
    describeQueue("with the ledger on SQLite", onSqlite);
    describeQueue("with the ledger on Redis", onRedis);
  }

  /**
   * The suite leaves a killed process as a queue whose tool hangs. For Redis a process is gone when its connections are, so
   * those of every queue are cut when the next one is opened.
   */
  async function createHarness(openLedger: () => Promise<Ledger>): Promise<QueueHarness> {
    const prefix = `{${randomUUID()}}:`;
    const bus = createInMemoryBus(silentLog);
    const opened: { queue: ToolQueue; proxy: RedisProxy; connection: RedisConnection }[] = [];
    return {
      ledger: await openLedger(),
      async open(setup) {
        for (const { proxy } of opened) proxy.shut();
        const proxy = await startRedisProxy(server);
        const connection = createRedisConnection(proxy.url, silentLog);
        const queue = createBullQueue({
          ephemeral: { put() {} },
          ...setup,
          audit: createRecordedAudit(),
          toolbox: inStep(setup.toolbox),
          ledger: await openLedger(),
          connect: connection.forBullMq,
          prefix,
          bus,
          runs: true,
          outputsFolder: setup.outputsFolder,
          redact: (text) => text,
          log: silentLog,
          timing: quickTiming,
        });
        opened.push({ queue, proxy, connection });
        return queue;
      },
      async dispose() {
        // Those whose tool hangs are the killed ones: they would wait for it for ever.
        const idle = opened.filter(({ queue }) => queue.counts().running === 0);
        await Promise.all(idle.map(({ queue }) => queue.close()));
        await Promise.all(opened.map(({ connection }) => connection.close()));
        await Promise.all(opened.map(({ proxy }) => proxy.close()));
      },
    };
  }
});

/**
 * The suite's tools take a tick, which is less than a way to Redis: by the time that the next job is here the last one has
 * ended. They begin on a common beat, so that those which may run side by side do.
 */
function inStep(toolbox: Toolbox): Toolbox {
  const beatMs = 5;
  return {
    ...toolbox,
    async run(call, scope, signal) {
      await setTimeout(beatMs - (performance.now() % beatMs));
      return await toolbox.run(call, scope, signal);
    },
  };
}
