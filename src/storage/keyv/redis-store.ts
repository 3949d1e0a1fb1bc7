/** The store on Keyv and the shared ioredis connection. `{remora}:store::KEY` contains `{"value":…,"expires":…}`. */
import { Keyv, keyvStorageCapability } from "keyv";
import { lockLost } from "../../lib/with-lock.ts";
import type { Fence } from "../../ports/cluster.ts";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import type { DamagedRecords } from "../damaged-records.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { checkPrefix, createScript, defaultPrefix, runScript } from "../redis/script.ts";
import { closedError } from "../redis/wait.ts";
import { readValue } from "./read-value.ts";

export interface RedisStoreOptions {
  connection: RedisConnection;
  prefix?: string;
  waitMs?: number;
  damaged?: Pick<DamagedRecords, "note">;
}

/** KEYS: value, lease. ARGV: the lease's token, value or nothing, time to live or nothing. */
const fencedScript = createScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('UNLINK', KEYS[1])
elseif ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
`);

export function createRedisStore(options: RedisStoreOptions): Store {
  const place = `store ${options.connection.address.name}`;
  // Nobody listens for Keyv's `error` event, so Keyv throws failures to its caller.
  // Redis removes what has expired. Keyv would delete the key, even if it was set again since.
  const keyvFor = (fence?: Fence) => new Keyv({ store: createRedisAdapter(options, fence), checkExpired: false });
  const keyv = keyvFor();
  let isClosed = false;

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw closedError(place);
    return await work();
  }

  return {
    get: (key) => guarded(() => readValue(key, () => keyv.get<Json>(key), options.damaged)),
    set: (key, value, ttlMs, fence) =>
      guarded(async () => {
        await (fence === undefined ? keyv : keyvFor(fence)).set(key, value, ttlMs);
      }),
    delete: (key, fence) =>
      guarded(async () => {
        await (fence === undefined ? keyv : keyvFor(fence)).delete(key);
      }),
    async close() {
      isClosed = true;
    },
  };
}

function createRedisAdapter({ connection, prefix = defaultPrefix, waitMs }: RedisStoreOptions, fence?: Fence) {
  const runOptions = { place: "store", ...(waitMs === undefined ? {} : { waitMs }) };
  const namespace = `${checkPrefix(prefix)}store`;
  const redisKey = (key: string) => `${namespace}::${key}`;
  const ttlOf = (expires: number | undefined) => (expires === undefined ? "" : Math.max(1, expires - Date.now()));

  async function writeFenced(
    { key: lease, token }: Fence,
    key: string,
    value: string,
    expires?: number,
  ): Promise<true> {
    const sent = await connection.run(runOptions, (client) =>
      runScript(client, fencedScript, [redisKey(key), lease], [token, value, ttlOf(expires)]),
    );
    if (sent !== 1) throw lockLost(key);
    return true;
  }

  const commands = {
    get: (key: string) => connection.run(runOptions, async (client) => (await client.get(redisKey(key))) ?? undefined),
    /** `expires` is in milliseconds since 1970. */
    async set(key: string, value: string, expires?: number) {
      if (fence !== undefined) return await writeFenced(fence, key, value, expires);
      return await connection.run(runOptions, async (client) => {
        if (expires === undefined) await client.set(redisKey(key), value);
        else await client.set(redisKey(key), value, "PX", ttlOf(expires));
        return true;
      });
    },
    async delete(key: string) {
      if (fence !== undefined) return await writeFenced(fence, key, "");
      return await connection.run(runOptions, async (client) => (await client.unlink(redisKey(key))) > 0);
    },
  };
  // Without `capabilities` Keyv would wrap the adapter and pass a time to live instead of `expires`.
  return { ...commands, capabilities: keyvStorageCapability(commands) };
}
