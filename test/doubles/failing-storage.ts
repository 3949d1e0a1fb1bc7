/**
 * A ledger and a store whose n-th write fails once, with the errors that SQLite and Redis really give. The errors go through the
 * same translation as in the process.
 */
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Store } from "../../src/ports/store.ts";
import { asRedisError, unreachable } from "../../src/storage/redis/errors.ts";
import { asStorageError } from "../../src/storage/sqlite/database.ts";

const sqlite = (errcode: number, message: string) => () =>
  asStorageError(Object.assign(new Error(message), { errcode }), "ledger.db");
const redis = (message: string) => () =>
  asRedisError(Object.assign(new Error(message), { name: "ReplyError" }), "redis");
const file = (code: string) => () =>
  asStorageError(Object.assign(new Error(code), { code, syscall: "open" }), "store.db");

/** https://sqlite.org/rescode.html, and the shared errors of Redis's server.c. */
export const transientFaults: Record<string, () => unknown> = {
  SQLITE_FULL: sqlite(13, "database or disk is full"),
  SQLITE_BUSY: sqlite(5, "database is locked"),
  SQLITE_BUSY_SNAPSHOT: sqlite(517, "database is locked"),
  SQLITE_LOCKED: sqlite(6, "database table is locked"),
  SQLITE_IOERR_WRITE: sqlite(778, "disk I/O error"),
  SQLITE_CANTOPEN: sqlite(14, "unable to open database file"),
  EMFILE: file("EMFILE"),
  ENOSPC: file("ENOSPC"),
  "Redis OOM": redis("OOM command not allowed when used memory > 'maxmemory'."),
  "Redis LOADING": redis("LOADING Redis is loading the dataset in memory"),
  "Redis READONLY": redis("READONLY You can't write against a read only replica."),
  "Redis MISCONF": redis("MISCONF Redis is configured to save RDB snapshots"),
  "Redis NOREPLICAS": redis("NOREPLICAS Not enough good replicas to write."),
  "Redis BUSY": redis("BUSY Redis is busy running a script."),
  "Redis CLUSTERDOWN": redis("CLUSTERDOWN The cluster is down"),
  "Redis TRYAGAIN": redis("TRYAGAIN Multiple keys request during rehashing of slot"),
  "Redis MASTERDOWN": redis("MASTERDOWN Link with MASTER is down"),
  "Redis in a script": redis("ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed"),
  "Redis away": () => unreachable("redis", 20_000, "connect ECONNREFUSED"),
};

/** Faults that waiting does not end. */
export const lastingFaults: Record<string, () => unknown> = {
  SQLITE_CORRUPT: sqlite(11, "database disk image is malformed"),
  SQLITE_READONLY: sqlite(8, "attempt to write a readonly database"),
  EACCES: file("EACCES"),
  "Redis NOPERM": redis("NOPERM this user has no permissions"),
  "Redis MOVED": redis("MOVED 3999 127.0.0.1:6381"),
};

export interface FailingWrites {
  ledger: Ledger;
  store: Store;
  /** Writes so far, failed ones included. */
  writes(): number;
  /** What the failed writes were. */
  failed: string[];
}

/** Fails `times` writes from the `at`-th on (1 is the first). */
export function failWrites(
  { ledger, store }: { ledger: Ledger; store: Store },
  { at, times = 1, fault }: { at: number; times?: number; fault: () => unknown },
): FailingWrites {
  const failed: string[] = [];
  let writes = 0;

  function step(what: string): void {
    writes += 1;
    if (writes < at || writes >= at + times) return;
    failed.push(what);
    throw fault();
  }

  return {
    failed,
    writes: () => writes,
    ledger: {
      ...ledger,
      async create(kind, id, entry) {
        step(`create ${kind}`);
        return await ledger.create(kind, id, entry);
      },
      async transition(kind, id, from, to, change) {
        step(`${kind} to ${to}`);
        return await ledger.transition(kind, id, from, to, change);
      },
    },
    store: {
      ...store,
      async set(key, value, ttlMs) {
        step("store set");
        await store.set(key, value, ttlMs);
      },
    },
  };
}
