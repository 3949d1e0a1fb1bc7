/**
 * Opens durable state: SQLite files in the data folder for one process, or Redis for any number of processes. With
 * Redis, private files such as the search index are in a subfolder of the data folder.
 */
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import type { Ledger } from "../ports/ledger.ts";
import { createDamagedRecords } from "./damaged-records.ts";
import type { DurableState, OnWaiting, RedisSettings, StoredRecords } from "./durable-state.ts";
import { createInMemoryBus, createInMemoryLeases } from "./in-memory-cluster.ts";
import { createKeyvStore } from "./keyv/store.ts";
import { lockData } from "./sqlite/data-lock.ts";
import { createSqliteLedger } from "./sqlite/ledger.ts";
import { refuseDamaged } from "./sqlite/quick-check.ts";

/** Checked at every start. Larger files are checked in the background (app/health.ts), so that they don't delay it. */
export const maxCheckedBytes = 8 * 1024 * 1024;
export const wholeFiles = [
  ["ledger.db", "ledger"],
  ["store.db", "store"],
] as const;

export interface StateOptions {
  data: string;
  redis: RedisSettings | null;
  log: Log;
}

/** Rejects if the state can't be opened, or with the signal's reason if aborted while waiting. */
export async function openState(
  options: StateOptions,
  onWaiting: OnWaiting,
  signal: AbortSignal,
): Promise<DurableState> {
  const { data, redis, log } = options;
  if (redis === null) return openEmbedded(data, log);
  return await (await import("./redis/open-redis.ts")).openShared(data, redis, log, onWaiting, signal);
}

export async function openRecords({ data, redis, log }: StateOptions): Promise<StoredRecords> {
  if (redis !== null) return await (await import("./redis/open-redis.ts")).openSharedRecords(redis, log);
  const damaged = createDamagedRecords(log);
  const ledger = createSqliteLedger({ path: ledgerFile(data), damaged });
  const store = createKeyvStore({ path: join(data, "store.db"), damaged });
  return {
    ...{ ledger, store },
    async close() {
      await Promise.all([store.close(), ledger.close()]);
    },
  };
}

export async function openLedger(options: StateOptions): Promise<Ledger> {
  const { ledger, close } = await openRecords(options);
  return { ...ledger, close };
}

export function ledgerFile(data: string): string {
  return join(data, "ledger.db");
}

function openEmbedded(data: string, log: Log): DurableState {
  const lock = lockData(data);
  for (const [file, name] of wholeFiles) refuseDamaged(join(data, file), name, maxCheckedBytes);
  const damaged = createDamagedRecords(log);
  const ledger = createSqliteLedger({ path: ledgerFile(data), damaged });
  const store = createKeyvStore({ path: join(data, "store.db"), damaged });
  const [leases, bus] = [createInMemoryLeases(), createInMemoryBus(log)];
  return {
    ...{
      ledger,
      store,
      leases,
      bus,
      withLock: undefined,
      redis: undefined,
      stubEnded: undefined,
      ownFolder: data,
      damagedRecords: damaged.list,
    },
    async close() {
      await Promise.all([bus.close(), leases.close(), store.close(), ledger.close()]);
      lock.release();
    },
  };
}
