/** The store on Keyv and the shared ioredis connection. `{remora}:store::KEY` contains `{"value":…,"expires":…}`. */
import { Keyv, keyvStorageCapability } from "keyv";
import { RemoraError } from "../../lib/errors.ts";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { checkPrefix, defaultPrefix } from "../redis/script.ts";
import { closedError } from "../redis/wait.ts";

export interface RedisStoreOptions {
  connection: RedisConnection;
  prefix?: string;
  waitMs?: number;
}

export function createRedisStore(options: RedisStoreOptions): Store {
  const place = `store ${options.connection.address.name}`;
  // Nobody listens for Keyv's `error` event, so Keyv throws failures to its caller.
  // Redis removes what has expired. Keyv would delete the key, even if it was set again since.
  const keyv = new Keyv({ store: createRedisAdapter(options), checkExpired: false });
  let isClosed = false;

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw closedError(place);
    try {
      return await work();
    } catch (thrown) {
      throw thrown instanceof SyntaxError ? corrupt(place, thrown) : thrown;
    }
  }

  return {
    get: (key) => guarded(() => keyv.get<Json>(key)),
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

function corrupt(place: string, cause: SyntaxError): RemoraError {
  return new RemoraError({
    code: "storage.corrupt",
    place,
    message:
      "has a value that can't be read. Another program writes keys with Remora's prefix. Delete that key, or restore a backup.",
    cause,
  });
}
