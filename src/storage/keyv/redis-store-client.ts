/** node-redis clients for the store's Keyv adapter, one for each way to reach Redis. */
import { createClient, createCluster, createSentinel } from "@keyv/redis";
import type { RedisAddress } from "../redis/url.ts";

const longestDelayMs = 2_000;
const connectTimeoutMs = 5_000;
/** Without a ping an idle connection would count as silent. */
const pingEveryMs = 5_000;
const silenceMs = 15_000;

export type StoreClient = ReturnType<typeof openStoreClient>;

/** Does not connect yet. The caller listens for `error`. */
export function openStoreClient(address: RedisAddress) {
  const { username, password, isTls } = address;
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  const socket = {
    ...(isTls ? { tls: true as const } : {}),
    connectTimeout: connectTimeoutMs,
    socketTimeout: silenceMs,
    reconnectStrategy: (tries: number) => Math.min(50 * 2 ** Math.min(tries, 10), longestDelayMs),
  };
  // Nothing waits inside the client: whoever sent a command decides whether to try again.
  const common = {
    socket,
    name: "remora-store",
    pingInterval: pingEveryMs,
    disableOfflineQueue: true,
    maintNotifications: "disabled" as const,
  };
  switch (address.type) {
    case "single":
      return createClient({
        ...common,
        ...login,
        socket: { ...socket, ...address.node },
        database: address.database,
      });
    case "sentinel":
      return createSentinel({
        name: address.masterName,
        sentinelRootNodes: address.sentinels,
        nodeClientOptions: { ...common, ...login, database: address.database },
        sentinelClientOptions: {
          ...common,
          ...(password === undefined ? {} : { password }),
        },
        scanInterval: pingEveryMs,
        passthroughClientErrorEvents: true,
      });
    case "cluster":
      return createCluster({
        rootNodes: address.nodes.map((node) => ({ socket: { ...socket, ...node } })),
        defaults: { ...common, ...login },
      });
    default:
      return address satisfies never;
  }
}
