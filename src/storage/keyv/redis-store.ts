/**
 * The store on Keyv and its Redis adapter, which brings a client of its own (node-redis). It behaves as everything else
 * here: connects again for ever, waits while Redis is away, up to a bound, and rejects with what to do.
 */
import { setTimeout as pause } from "node:timers/promises";
import KeyvRedis from "@keyv/redis";
import { Keyv } from "keyv";
import { RemoraError } from "../../lib/errors.ts";
import type { Json } from "../../ports/message.ts";
import type { Store } from "../../ports/store.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { isRefusal } from "../redis/errors.ts";
import { checkPrefix, defaultPrefix } from "../redis/script.ts";
import { closedError, type Line, patiently } from "../redis/wait.ts";
import { openStoreClient, type StoreClient } from "./redis-store-client.ts";

export interface RedisStoreOptions {
  /** Of which only the address and the bound are used. */
  connection: RedisConnection;
  /** Of all keys, with a part in braces; default `{remora}:`. */
  prefix?: string;
  /** How long a call waits while Redis is away, in milliseconds; default the connection's. */
  waitMs?: number;
}

const betweenTriesMs = 500;

/** Connects with the first call. */
export function createRedisStore({ connection, prefix = defaultPrefix, waitMs }: RedisStoreOptions): Store {
  const options = { place: `store ${connection.address.name}`, waitMs: waitMs ?? connection.waitMs };
  const namespace = `${checkPrefix(prefix)}store`;
  const line = createLine(connection.address.type !== "single", connection.hurried);
  let opened: { keyv: Keyv; adapter: KeyvRedis<unknown> } | undefined;

  function open() {
    const client = openStoreClient(connection.address);
    line.follow(client);
    const adapter = new KeyvRedis(client, { namespace, throwOnErrors: true });
    // It would connect a client that is not open: also one that was closed while a call was on its way to it.
    adapter.getClient = async () => client;
    const keyv = new Keyv({ store: adapter });
    // The adapter hands every trouble of the connection on to Keyv, which throws an error that nobody listens for: into
    // nowhere then. Without that Keyv hears of a failed call alone, and throws it to whoever made the call.
    adapter.removeAllListeners("error");
    return { keyv, adapter };
  }

  async function guarded<T>(work: (keyv: Keyv) => Promise<T>): Promise<T> {
    if (line.isClosed()) throw closedError(options.place);
    opened ??= open();
    const { keyv } = opened;
    try {
      return await patiently(line, options, () => work(keyv));
    } catch (thrown) {
      throw thrown instanceof SyntaxError ? corrupt(options.place, thrown) : thrown;
    }
  }

  return {
    get: (key) => guarded((keyv) => keyv.get<Json>(key)),
    set: (key, value, ttlMs) =>
      guarded(async (keyv) => {
        await keyv.set(key, value, ttlMs);
      }),
    delete: (key) =>
      guarded(async (keyv) => {
        await keyv.delete(key);
      }),
    async close() {
      if (line.isClosed()) return;
      line.close();
      await opened?.adapter.disconnect(true);
    },
  };
}

function corrupt(place: string, cause: SyntaxError): RemoraError {
  return new RemoraError({
    code: "storage.corrupt",
    place,
    message:
      "has a value that can't be read. Somebody else writes below Remora's prefix; delete that key, or put a backup back.",
    cause,
  });
}

/** Follows a client: connects it until that succeeds once (from then on it does so itself), and knows what is wrong. */
function createLine(
  isReadOnlyPassing: boolean,
  hurried: AbortSignal,
): Line & { follow(client: StoreClient): void; close(): void } {
  const listeners = new Set<() => void>();
  let client: StoreClient | undefined;
  let isConnected = false;
  let isClosed = false;
  let lastError: Error | undefined;

  const note = (error?: Error) => {
    lastError = error;
    for (const listener of [...listeners]) listener();
  };
  hurried.addEventListener("abort", () => note(lastError), { once: true });

  async function connect(to: StoreClient): Promise<void> {
    while (!isClosed) {
      try {
        await to.connect();
        isConnected = true;
        return note();
      } catch (thrown) {
        // What its connections said on the way tells more than that no node would do.
        note(lastError ?? (thrown instanceof Error ? thrown : undefined));
        await pause(betweenTriesMs, undefined, { ref: false });
      }
    }
  }

  return {
    // A cluster's nodes come and go one by one, so it has no such flag, and is up once it has found them.
    isUp: () => isConnected && client !== undefined && (!("isReady" in client) || client.isReady),
    isClosed: () => isClosed,
    refusal: () => (isRefusal(lastError) ? lastError : undefined),
    trouble: () => lastError?.message ?? "",
    isReadOnlyPassing,
    isHurried: () => hurried.aborted,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    follow(opened) {
      client = opened;
      opened.on("error", note);
      opened.on("ready", () => note());
      void connect(opened);
    },
    close() {
      isClosed = true;
      note();
    },
  };
}
