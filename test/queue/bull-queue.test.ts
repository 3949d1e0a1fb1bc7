import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { createSoleBus } from "../../src/core/coordination.ts";
import { silentLog } from "../../src/core/log.ts";
import type { ToolQueue } from "../../src/core/tool.ts";
import { type BullTiming, createBullQueue } from "../../src/queue/bull-queue.ts";
import { createSqliteLedger } from "../../src/storage/sqlite-ledger.ts";
import { queueConformance } from "../conformance/queue.ts";
import { missingRedis, type RedisServer, redisNote, startRedisServer } from "../doubles/redis-server.ts";
import { type Line, openLine } from "./bull-line.ts";

/** Quick enough for tests; what must hold holds at any pace. */
const timing: BullTiming = {
  lockMs: 100,
  stalledMs: 50,
  graceMs: 50,
  lookAgainMs: 50,
  sweepMs: 100,
  stopPatienceMs: 1_000,
  closePatienceMs: 500,
};

describe.skipIf(missingRedis !== undefined)(`the queue on BullMQ${redisNote}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.dispose());

  // A process that is killed is gone for Redis: the line of every queue is cut when the next one is opened.
  queueConformance("BullMQ with the ledger on SQLite", async () => {
    const folder = await mkdtemp(join(tmpdir(), "remora-queue-ledger-"));
    const path = join(folder, "ledger.db");
    const ledgers = [createSqliteLedger({ path })];
    const prefix = `{${randomUUID()}}`;
    const bus = createSoleBus();
    const opened: { queue: ToolQueue; line: Line }[] = [];
    return {
      ledger: ledgers[0]!,
      async open(setup) {
        for (const { line } of opened) line.cut();
        const ledger = createSqliteLedger({ path });
        ledgers.push(ledger);
        const line = await openLine(server.port);
        const queue = createBullQueue({
          ...setup,
          ledger,
          connect: line.connect,
          prefix,
          bus,
          runs: true,
          redact: (text) => text,
          log: silentLog,
          timing,
        });
        opened.push({ queue, line });
        return queue;
      },
      async dispose() {
        // Those whose tool hangs are the killed ones: they would wait for it for ever.
        const idle = opened.filter(({ queue }) => queue.counts().running === 0);
        await Promise.all(idle.map(({ queue }) => queue.close()));
        await Promise.all(opened.map(({ line }) => line.dispose()));
        await Promise.all(ledgers.map((ledger) => ledger.close()));
        await rm(folder, { recursive: true });
      },
    };
  });
});
