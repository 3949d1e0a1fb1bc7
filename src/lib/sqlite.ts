/** SQLite's write-ahead log: nobody who reads waits for who writes, and what is committed survives the end of the process. */
import type { DatabaseSync } from "node:sqlite";

/** SQLite's result code. */
const busy = 5;
const patienceMs = 5_000;
const askAgainMs = 5;

/**
 * Turned on once, it is on for everybody, in the file. Of several processes that open a new file at once all but one are
 * refused, and SQLite does not wait, because they would wait for each other; a moment later it is on. NORMAL: a power cut may
 * lose the last commits, and never the file. Throws what SQLite throws.
 */
export function useWriteAheadLog(database: DatabaseSync): void {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
      return;
    } catch (thrown) {
      if (!isBusy(thrown) || Date.now() >= until) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, askAgainMs);
    }
  }
}

function isBusy(thrown: unknown): boolean {
  const code = thrown instanceof Error && "errcode" in thrown ? thrown.errcode : undefined;
  // The low byte; the others say what kind of busy it is.
  return typeof code === "number" && (code & 0xff) === busy;
}
