/** Copies and checks SQLite databases. */
import { open } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { ifMissing, messageOf, RemoraError } from "../lib/errors.ts";

const busyTimeoutMs = 10_000;
/** Node wants a positive number. */
const allPages = 2 ** 31 - 1;
const magic = "SQLite format 3\0";

export async function isDatabase(path: string): Promise<boolean> {
  const handle = await open(path, "r").catch(ifMissing(undefined));
  if (handle === undefined) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(magic.length), 0, magic.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === magic;
  } finally {
    await handle.close();
  }
}

/**
 * Copies the database as it is at one moment, while others write to it. All pages in one step: with several, each write
 * in between would start the copy again. Resolves to the schema's version. Rejects if the database is damaged.
 */
export async function copyDatabase(path: string, copy: string): Promise<number> {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    try {
      await backup(database, copy, { rate: allPages });
    } finally {
      database.close();
    }
    return checkDatabase(copy);
  } catch (thrown) {
    if (thrown instanceof RemoraError && thrown.code !== "backup.damaged-database") throw thrown;
    const isFull = thrown instanceof Error && "errcode" in thrown && thrown.errcode === 13;
    throw new RemoraError({
      code: "backup.database",
      place: path,
      message: isFull
        ? "can't be copied because the disk is full, so there is no backup. Free some space, or name a file on another disk"
        : `can't be copied (${messageOf(thrown)}), so there is no backup. If it is damaged, restore an earlier backup`,
      cause: thrown,
    });
  }
}

/** The database must not be in use. Returns the version of the schema. Throws if the database is damaged. */
export function checkDatabase(path: string): number {
  // Without `immutable`, SQLite would leave files for its log beside a copy that nobody writes to.
  const database = new DatabaseSync(new URL(`${pathToFileURL(path)}?immutable=1`), { readOnly: true });
  try {
    const found = database.prepare("PRAGMA quick_check(1)").get()?.quick_check;
    if (found !== "ok") throw new Error(`${found}`);
    return Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  } catch (thrown) {
    throw new RemoraError({
      code: "backup.damaged-database",
      place: path,
      message: `is damaged (${messageOf(thrown)})`,
      cause: thrown,
    });
  } finally {
    database.close();
  }
}
