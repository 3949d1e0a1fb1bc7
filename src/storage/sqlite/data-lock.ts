/**
 * Lets only one process at a time use a data folder. A second one would mistake the running turns in the ledger for
 * orphans. Starts a write transaction on `process.db` and never ends it. The operating system releases it with the
 * process, even after a crash, so no stale lock remains. `process.pid` only names the owner in the error message.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import { asStorageError } from "./database.ts";

/** Keep this object while the lock is needed: the garbage collector closes an unreferenced database handle. */
export interface DataLock {
  release(): void;
}

export function lockData(folder: string): DataLock {
  const pidFile = join(folder, "process.pid");
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(join(folder, "process.db"), { timeout: 0 });
    database.exec("BEGIN IMMEDIATE");
    writeFileSync(pidFile, `${process.pid}\n`);
  } catch (thrown) {
    database?.close();
    const error = asStorageError(thrown, `data ${folder}`);
    throw codeOf(error) === "storage.busy" ? inUse(folder, pidFile, thrown) : error;
  }
  const held = database;
  return {
    release: () => {
      if (held.isOpen) held.close();
    },
  };
}

function inUse(folder: string, pidFile: string, cause: unknown): RemoraError {
  const who = pidIn(pidFile);
  return new RemoraError({
    code: "start.data-in-use",
    place: `data ${folder}`,
    message:
      `another Remora${who === undefined ? "" : ` (process ${who})`} is already using it, and two would answer the same messages. ` +
      "Stop that one, or give this one its own folders with REMORA_DATA and REMORA_WORKSPACE",
    cause,
  });
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}
