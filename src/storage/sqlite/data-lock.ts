/**
 * One process at a time on a data folder: what is under way in the ledger belongs to the process that runs, and a second
 * one would take it for left behind and go on with it.
 *
 *   1. a write transaction on `process.db` is begun and never ended: the operating system lets go of it with the process,
 *      however that ends, so nothing stale is left behind
 *   2. `process.pid` beside it says who holds it, for the message; it decides nothing
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import { asStorageError } from "./database.ts";

/** Held for as long as this object is kept: a database handle that nobody keeps is closed by the garbage collector. */
export interface DataLock {
  release(): void;
}

/** Throws a RemoraError when another process, or another holder in this one, has the folder. */
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
      `another Remora${who === undefined ? "" : ` (process ${who})`} is running on it, and two would answer the same messages. ` +
      "Stop that one, or give this one folders of its own: REMORA_DATA and REMORA_WORKSPACE",
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
