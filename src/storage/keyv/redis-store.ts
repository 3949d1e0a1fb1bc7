/** The store on Keyv and the shared ioredis connection. `{remora}:store::KEY` contains `{"value":…,"expires":…}`. */
import { Keyv, keyvStorageCapability } from "keyv";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import type { DamagedRecords } from "../damaged-records.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { checkPrefix, defaultPrefix } from "../redis/script.ts";
import { closedError } from "../redis/wait.ts";
import { readValue } from "./read-value.ts";

export interface RedisStoreOptions {
  connection: RedisConnection;
  prefix?: string;
  waitMs?: number;
  damaged?: Pick<DamagedRecords, "note">;
}

export function createRedisStore(options: RedisStoreOptions): Store {
  const place = `store ${options.connection.address.name}`;
  // Nobody listens for Keyv's `error` event, so Keyv throws failures to its caller.
  // Redis removes what has expired. Keyv would delete the key, even if it was set again since.
  const keyv = new Keyv({ store: createRedisAdapter(options), checkExpired: false });
  let isClosed = false;

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw closedError(place);
    return await work();
  }

  return {
    get: (key) => guarded(() => readValue(key, () => keyv.get<Json>(key), options.damaged)),
    set: (key, value, ttlMs) =>
      guarded(async () => {
        await keyv.set(key, value, ttlMs);
      }),
    delete: (key) =>
      guarded(async () => {
        await keyv.delete(key);
      }),
    async close() {
      isClosed = true;
    },
  };
}

function createRedisAdapter({ connection, prefix = defaultPrefix, waitMs }: RedisStoreOptions) {
  const runOptions = { place: "store", ...(waitMs === undefined ? {} : { waitMs }) };
  const namespace = `${checkPrefix(prefix)}store`;
  const redisKey = (key: string) => `${namespace}::${key}`;
  const commands = {
    get: (key: string) => connection.run(runOptions, async (client) => (await client.get(redisKey(key))) ?? undefined),
    /** `expires` is in milliseconds since 1970. */
    set: (key: string, value: string, expires?: number) =>
      connection.run(runOptions, async (client) => {
        if (expires === undefined) await client.set(redisKey(key), value);
        else await client.set(redisKey(key), value, "PX", Math.max(1, expires - Date.now()));
        return true;
      }),
    delete: (key: string) => connection.run(runOptions, async (client) => (await client.unlink(redisKey(key))) > 0),
  };
  // Without `capabilities` Keyv would wrap the adapter and pass a time to live instead of `expires`.
  return { ...commands, capabilities: keyvStorageCapability(commands) };
}
