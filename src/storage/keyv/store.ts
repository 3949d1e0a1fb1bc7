/** The store, built on Keyv and one SQLite file. Rejects if the file is unreadable; Keyv would return `undefined`. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { KeyvSqlite } from "@keyv/sqlite";
import { Keyv } from "keyv";
import { RemoraError } from "../../lib/errors.ts";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import type { DamagedRecords } from "../damaged-records.ts";
import { asStorageError } from "../sqlite/database.ts";
import { readValue } from "./read-value.ts";
import { sqliteDriver } from "./sqlite-driver.ts";

export interface KeyvStoreOptions {
  /** A file, created with its folder if missing, or `:memory:`. */
  path: string;
  damaged?: Pick<DamagedRecords, "note">;
}

const hourMs = 3_600_000;

/** Opens the file on first use. Rejects with a RemoraError if the file can't be used. */
export function createKeyvStore({ path, damaged }: KeyvStoreOptions): Store {
  const place = `store ${path}`;
  let opened: Promise<{ keyv: Keyv; adapter: KeyvSqlite }> | undefined;
  let isClosed = false;
  let sweptAt = 0;

  async function open() {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    const adapter = new KeyvSqlite({ uri: `sqlite://${path}`, driver: sqliteDriver });
    await adapter.ready;
    // Nobody listens for Keyv's `error` event, so Keyv throws failures to its caller.
    // The driver leaves out what has expired. Keyv would also delete the key, even if it was set again since.
    return { keyv: new Keyv({ store: adapter, checkExpired: false }), adapter };
  }

  async function guarded<T>(work: (on: { keyv: Keyv; adapter: KeyvSqlite }) => Promise<T>): Promise<T> {
    if (isClosed) throw new RemoraError({ code: "storage.closed", place, message: "is already closed." });
    try {
      opened ??= open().catch((thrown) => {
        // Let the next call try again, because by then the file may be unlocked or its folder writable.
        opened = undefined;
        throw thrown;
      });
      return await work(await opened);
    } catch (thrown) {
      throw asStorageError(thrown, place);
    }
  }

  return {
    get: (key) => guarded(({ keyv }) => readValue(key, () => keyv.get<Json>(key), damaged)),
    set: (key, value, ttlMs) =>
      guarded(async ({ keyv, adapter }) => {
        await keyv.set(key, value, ttlMs);
        // Remove expired values that nobody reads. Not in a timer, because an exception there would end the process.
        if (ttlMs === undefined || Date.now() - sweptAt < hourMs) return;
        sweptAt = Date.now();
        await adapter.clearExpired();
      }),
    delete: (key) =>
      guarded(async ({ keyv }) => {
        await keyv.delete(key);
      }),
    async close() {
      if (isClosed) return;
      isClosed = true;
      const on = await opened?.catch(() => undefined);
      await on?.adapter.disconnect();
    },
  };
}
