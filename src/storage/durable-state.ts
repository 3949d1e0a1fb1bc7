/** Types of durable state, independent of where it is stored. */
import type { Bus, Leases, WithLock } from "../ports/cluster.ts";

import type { Ledger } from "../ports/ledger.ts";

import type { Store } from "../ports/store.ts";

import type { RedisConnection } from "./redis/connection.ts";

export interface RedisSettings {
  url: string;
  /** The prefix of all keys, put in braces. Installations with different prefixes are independent. */
  prefix: string;
  /** A lock expires this long after its owner has died. */
  lockMs: number;
  waitMs: number;
  /** The folder of ended turns' journals, the same for all processes. */
  journals: string;
}

/** What a command on the command line reads and changes, even while the agent runs. */
export interface StoredRecords {
  ledger: Ledger;
  store: Store;
  close(): Promise<void>;
}

export interface DurableState {
  ledger: Ledger;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Undefined if only one process can use the state. */
  withLock: WithLock | undefined;
  redis: { connection: RedisConnection; prefix: string } | undefined;
  /**
   * Moves what ended an hour ago from Redis to its journal file. Resolves to the number of entries. Undefined if the records
   * stay where they are.
   */
  stubEnded: ((now: number) => Promise<number>) | undefined;
  /** The folder for files that no other process uses. */
  ownFolder: string;
  /** Records and values that this process could not read, such as `turn t1`. */
  damagedRecords(): string[];
  close(): Promise<void>;
}

/** Called if Redis is unreachable at startup; `detail` says why. Resolves to a function to call after the wait. */
export type OnWaiting = (detail: () => string) => Promise<() => Promise<void>>;
