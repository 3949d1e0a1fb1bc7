/** Looks for damage in a SQLite file. Blocks until it is done: about a second per gigabyte on a fast disk. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { messageOf, RemoraError } from "../../lib/errors.ts";

const maxProblems = 3;
const maxNamedRecords = 10;
const busyTimeoutMs = 5_000;

/** Returns what is wrong, or nothing. A missing or empty file is whole. */
export function quickCheck(path: string): string[] {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return [];
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    const rows = database.prepare(`PRAGMA quick_check(${maxProblems})`).all();
    return rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== "ok");
  } catch (thrown) {
    return [messageOf(thrown)];
  } finally {
    database?.close();
  }
}

/** Returns the first records of a whole ledger whose text is not a JSON object, such as `turn t1`. */
export function unreadableRecords(path: string): string[] {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return [];
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, readOnly: true });
  try {
    const rows = database
      .prepare(
        `SELECT kind, id FROM entry
         WHERE CASE WHEN json_valid(body) THEN json_type(body) <> 'object' ELSE 1 END LIMIT ${maxNamedRecords}`,
      )
      .all();
    return rows.map(({ kind, id }) => `${kind} ${id}`);
  } catch {
    // Another version's file, or one without records.
    return [];
  } finally {
    database.close();
  }
}

/** Throws if the file is damaged. Larger files are left to the check in the background. */
export function refuseDamaged(path: string, name: string, maxBytes: number): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > maxBytes) return;
  const [first] = quickCheck(path);
  if (first === undefined) return;
  throw new RemoraError({ code: "storage.corrupt", place: `${name} ${path}`, message: damagedText(first) });
}

export function damagedText(problem: string): string {
  return `is damaged (${problem.replaceAll(/\s+/g, " ").trim()}). Nothing was changed. Go back to a backup: npm run -s remora -- restore FILE --replace. Without a backup, stop Remora and move the file away, with its -wal and -shm files: what it holds is lost`;
}
