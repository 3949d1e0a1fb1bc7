/** Types of durable state, independent of where it is stored. */
import type { Bus, Leases, WithLock } from "../ports/cluster.ts";

import type { Ledger } from "../ports/ledger.ts";

import type { Store } from "../ports/store.ts";

import type { RedisConnection } from "./redis/connection.ts";

export interface RedisSettings {
  url: string;
  /** The prefix of all keys, which is put in braces. Installations with different prefixes are independent. */
  prefix: string;
  /** How many milliseconds after its owner has died a lock expires. */
  lockMs: number;
  waitMs: number;
}

export interface DurableState {
  ledger: Ledger;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Undefined if no other process can interfere. */
  withLock: WithLock | undefined;
  redis: { connection: RedisConnection; prefix: string } | undefined;
  /** The folder for files that no other process uses. */
  ownFolder: string;
  close(): Promise<void>;
}

/**
 * Called if Redis is not reachable at startup, with a function that returns the reason. The function that it resolves
 * to is called when the wait is over.
 */
export type OnWaiting = (detail: () => string) => Promise<() => Promise<void>>;
