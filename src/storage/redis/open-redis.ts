/** Opens durable state in Redis, for any number of processes. Loaded only if Redis is configured. */
import { join } from "node:path";
import { codeOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createWithLock } from "../../lib/with-lock.ts";
import type { WithLock } from "../../ports/cluster.ts";
import { createDamagedRecords } from "../damaged-records.ts";
import type { DurableState, OnWaiting, RedisSettings, StoredRecords } from "../durable-state.ts";
import { createRedisStore } from "../keyv/redis-store.ts";
import { type DataLock, lockData } from "../sqlite/data-lock.ts";
import { createRedisBus } from "./bus.ts";
import { createRedisConnection, type RedisConnection } from "./connection.ts";
import { createJournalFiles } from "./journal-files.ts";
import { createRedisLeases } from "./leases.ts";
import { createRedisLedger } from "./ledger.ts";
import { createStubs } from "./stubs.ts";

/** The records without leases and bus, for a single command. */
export async function openSharedRecords(redis: RedisSettings, log: Log): Promise<StoredRecords> {
  const connection = createRedisConnection(redis.url, log, { waitMs: Math.min(redis.waitMs, 5_000) });
  try {
    const prefix = keyPrefix(redis);
    const damaged = createDamagedRecords(log);
    const journals = createJournalFiles(redis.journals);
    const ledger = await createRedisLedger({ connection, prefix, damaged, journals });
    const store = createRedisStore({ connection, prefix, damaged });
    return {
      ...{ ledger, store },
      async close() {
        await Promise.all([store.close(), ledger.close()]);
        await connection.close();
      },
    };
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

/** Only the locks, for a single command. Taking one rejects if Redis is unreachable. */
export function openSharedLocks(redis: RedisSettings, log: Log): { withLock: WithLock; close(): Promise<void> } {
  const connection = createRedisConnection(redis.url, log, { waitMs: Math.min(redis.waitMs, 5_000) });
  const leases = createRedisLeases({ connection, prefix: keyPrefix(redis), lockMs: redis.lockMs });
  return {
    withLock: createWithLock(leases),
    async close() {
      await leases.close();
      await connection.close();
    },
  };
}

/** How long startup waits for Redis before it reports the wait. Redis may start later than Remora. */
const maxStartWaitMs = 500;

export async function openShared(
  data: string,
  redis: RedisSettings,
  log: Log,
  onWaiting: OnWaiting,
  signal: AbortSignal,
): Promise<DurableState> {
  const connection = createRedisConnection(redis.url, log, { waitMs: redis.waitMs });
  const prefix = keyPrefix(redis);
  try {
    await readyOrTold(connection, onWaiting, signal);
    for (const warning of await connection.checks()) log.warn({}, warning);
    const { folder, lock } = ownFolderBelow(data);
    const damaged = createDamagedRecords(log);
    const journals = createJournalFiles(redis.journals);
    const ledger = await createRedisLedger({ connection, prefix, damaged, journals });
    const store = createRedisStore({ connection, prefix, damaged });
    const leases = createRedisLeases({ connection, prefix, lockMs: redis.lockMs });
    const bus = createRedisBus({ connection, log, prefix });
    return {
      ...{
        ledger,
        store,
        leases,
        bus,
        withLock: createWithLock(leases),
        redis: { connection, prefix },
        stubEnded: createStubs({ connection, prefix, journals, leases, log }),
        ownFolder: folder,
        damagedRecords: damaged.list,
      },
      async close() {
        await leases.close();
        await Promise.all([bus.close(), store.close(), ledger.close(), journals.close()]);
        await connection.close();
        lock.release();
      },
    };
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

async function readyOrTold(connection: RedisConnection, onWaiting: OnWaiting, signal: AbortSignal): Promise<void> {
  const ready = connection.whenReady(signal);
  const timeUp = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), maxStartWaitMs).unref());
  if ((await Promise.race([ready, timeUp])) !== "late") return;
  const settled = await onWaiting(() => `waiting for Redis: ${connection.health().detail}`);
  try {
    await ready;
  } finally {
    await settled();
  }
}

function ownFolderBelow(data: string): { folder: string; lock: DataLock } {
  for (let number = 0; ; number++) {
    const folder = join(data, `process-${number}`);
    try {
      return { folder, lock: lockData(folder) };
    } catch (thrown) {
      if (codeOf(thrown) !== "start.data-in-use") throw thrown;
    }
  }
}

/** Puts the prefix in braces so that all keys are in one slot of a cluster and a script may use several keys. */
export function keyPrefix({ prefix }: RedisSettings): string {
  return `{${prefix}}:`;
}
