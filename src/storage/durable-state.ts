/** Durable state as the process uses it, wherever it is stored. */
import type { Bus, Leases, WithLock } from "../ports/cluster.ts";

import type { Ledger } from "../ports/ledger.ts";

import type { Store } from "../ports/store.ts";

import type { RedisConnection } from "./redis/connection.ts";

export interface RedisSettings {
  url: string;
  /** All keys start with it, in braces. Installations with different prefixes are independent. */
  prefix: string;
  /** Lock expiry after its owner died. */
  lockMs: number;
  waitMs: number;
}

export interface DurableState {
  ledger: Ledger;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Undefined when no other process can interfere. */
  withLock: WithLock | undefined;
  redis: { connection: RedisConnection; prefix: string } | undefined;
  /** For files that no other process uses. */
  ownFolder: string;
  close(): Promise<void>;
}

/** Called while Redis is not reachable yet, with the reason. The returned function is called when the wait is over. */
export type OnWaiting = (detail: () => string) => Promise<() => Promise<void>>;
