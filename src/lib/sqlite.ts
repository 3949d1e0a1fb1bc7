/** What all SQLite files share. With the write-ahead log, readers don't wait for writers, and commits survive a crash of the process. */
import type { DatabaseSync } from "node:sqlite";

const busy = 5;
const maxWaitMs = 5_000;
const askAgainMs = 5;
/**
 * Pages in the log before they are copied into the file: 16 MB. Each copy flushes both to the disk and blocks the process
 * meanwhile, so SQLite's own 1,000 would make a commit take twice as long.
 */
const checkpointPages = 4_000;

/**
 * Retries, because SQLite refuses all but one of the processes that open a new file simultaneously. With NORMAL, a
 * power cut can lose the last commits but never the file.
 */
export function useWriteAheadLog(database: DatabaseSync): void {
  const until = Date.now() + maxWaitMs;
  for (;;) {
    try {
      database.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${checkpointPages}`,
      );
      return;
    } catch (thrown) {
      if (!isBusy(thrown) || Date.now() >= until) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, askAgainMs);
    }
  }
}

/** IMMEDIATE takes the write lock before reading so that no other process can change what is read. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (thrown) {
    // Some errors, such as a full disk, have already rolled the transaction back.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw thrown;
  }
}

export function isBusy(thrown: unknown): boolean {
  const code = thrown instanceof Error && "errcode" in thrown ? thrown.errcode : undefined;
  // The low byte is the primary code; the other bytes give details.
  return typeof code === "number" && (code & 0xff) === busy;
}
