/**
 * Where the process keeps what must outlive it, and how it agrees with others on it:
 *
 *   without Redis   SQLite files in the data folder, which this process has for itself
 *   with Redis      ledger, store, leases and bus there, shared by any number of processes; what is each one's own (the
 *                   search index) goes into a folder of its own below the data folder
 */
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { type Alone, type Bus, createSoleBus, createSoleLeases, type Leases } from "../ports/cluster.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Store } from "../ports/store.ts";
import { createKeyvStore } from "./keyv/store.ts";
import type { RedisConnection } from "./redis/connection.ts";
import { lockData } from "./sqlite/data-lock.ts";
import { createSqliteLedger } from "./sqlite/ledger.ts";

export interface RedisSettings {
  url: string;
  /** Keys begin with it, in braces; installations with different ones don't know of each other. */
  prefix: string;
  /** How long what a dead process held stays held. */
  lockMs: number;
  /** How long a step waits while Redis is away. */
  waitMs: number;
}

export interface StateOptions {
  /** Absolute path. */
  data: string;
  redis: RedisSettings | null;
  log: Log;
}

export interface DurableState {
  ledger: Ledger;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Undefined where nobody else could come between. */
  alone: Alone | undefined;
  redis: { connection: RedisConnection; prefix: string } | undefined;
  /** For files that no other process uses. */
  ownFolder: string;
  close(): Promise<void>;
}

/** Told when Redis is not there yet, with what is waited for; its result is called when that is over. */
export type OnWaiting = (detail: () => string) => Promise<() => Promise<void>>;

/** Rejects when the state can't be opened, and with the signal's reason while it waits. */
export async function openState(
  options: StateOptions,
  onWaiting: OnWaiting,
  signal: AbortSignal,
): Promise<DurableState> {
  const { data, redis, log } = options;
  if (redis === null) return openEmbedded(data, log);
  return await (await import("./redis/open-redis.ts")).openShared(data, redis, log, onWaiting, signal);
}

/** The ledger alone, for commands beside a process that runs. */
export async function openLedger({ data, redis, log }: StateOptions): Promise<Ledger> {
  if (redis === null) return createSqliteLedger({ path: ledgerFile(data) });
  return await (await import("./redis/open-redis.ts")).openSharedLedger(redis, log);
}

export function ledgerFile(data: string): string {
  return join(data, "ledger.db");
}

function openEmbedded(data: string, log: Log): DurableState {
  const lock = lockData(data);
  const ledger = createSqliteLedger({ path: ledgerFile(data) });
  const store = createKeyvStore({ path: join(data, "store.db") });
  const [leases, bus] = [createSoleLeases(), createSoleBus(log)];
  return {
    ...{ ledger, store, leases, bus, alone: undefined, redis: undefined, ownFolder: data },
    async close() {
      await Promise.all([bus.close(), leases.close(), store.close(), ledger.close()]);
      lock.release();
    },
  };
}
