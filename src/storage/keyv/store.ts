/** The store, built on Keyv and one SQLite file. Rejects if the file is unreadable; Keyv would return `undefined`. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { KeyvSqlite } from "@keyv/sqlite";
import { Keyv } from "keyv";
import { RemoraError } from "../../lib/errors.ts";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import { asStorageError } from "../sqlite/database.ts";

export interface KeyvStoreOptions {
  /** A file, created with its folder if missing, or `:memory:`. */
  path: string;
}

const hourMs = 3_600_000;

/** Opens the file on first use. Rejects with a RemoraError if the file can't be used. */
export function createKeyvStore({ path }: KeyvStoreOptions): Store {
  const place = `store ${path}`;
  const isFile = path !== ":memory:";
  let opened: Promise<{ keyv: Keyv; adapter: KeyvSqlite }> | undefined;
  let isClosed = false;
  let sweptAt = 0;

  async function open() {
    if (isFile) mkdirSync(dirname(path), { recursive: true });
    // Name the driver, because the automatic choice may load better-sqlite3, which is not installed.
    const adapter = new KeyvSqlite({ uri: `sqlite://${path}`, driver: "node:sqlite", wal: isFile, busyTimeout: 5_000 });
    await adapter.ready;
    await adapter.query("PRAGMA synchronous = NORMAL");
    // Nobody listens for Keyv's `error` event, so Keyv throws failures to its caller.
    return { keyv: new Keyv({ store: adapter }), adapter };
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
    get: (key) => guarded(({ keyv }) => keyv.get<Json>(key)),
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
