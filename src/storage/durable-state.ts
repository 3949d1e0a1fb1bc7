/** Durable state as the process uses it, wherever it is kept. */
import type { Bus, Leases, WithLock } from "../ports/cluster.ts";

import type { Ledger } from "../ports/ledger.ts";

import type { Store } from "../ports/store.ts";

import type { RedisConnection } from "./redis/connection.ts";

export interface RedisSettings {
  url: string;
  /** Keys begin with it, in braces; installations with different ones don't know of each other. */
  prefix: string;
  /** How long what a dead process held stays held. */
  lockMs: number;
  /** How long a step waits while Redis is away. */
  waitMs: number;
}

export interface DurableState {
  ledger: Ledger;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Undefined where nobody else could come between. */
  withLock: WithLock | undefined;
  redis: { connection: RedisConnection; prefix: string } | undefined;
  /** For files that no other process uses. */
  ownFolder: string;
  close(): Promise<void>;
}

/** Told when Redis is not there yet, with what is waited for; its result is called when that is over. */
export type OnWaiting = (detail: () => string) => Promise<() => Promise<void>>;
