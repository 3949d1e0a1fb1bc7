/** Opens ioredis clients by purpose. All of them reconnect forever, with pauses of at most 2 s. */
import { Cluster, type CommonRedisOptions, Redis } from "ioredis";
import type { RedisAddress } from "./url.ts";

export type RedisClient = Redis | Cluster;

/**
 * - `commands`: immediately rejects commands that can't be sent or whose connection is lost. The sender may retry.
 * - `subscriber`: subscribes again automatically after reconnecting.
 * - `queue`: adds jobs; rejects immediately while Redis is unreachable.
 * - `worker`: waits for jobs with blocking commands, without a time limit.
 */
export type RedisRole = "commands" | "subscriber" | "queue" | "worker";

type Options = Omit<CommonRedisOptions, "replyMapping">;

const maxReconnectDelayMs = 2_000;
const connectTimeoutMs = 5_000;
const keepAliveMs = 10_000;
/** Limits how often a client searches for the new primary after the old one has become a replica. */
const minSearchIntervalMs = 2_000;

/** The caller must listen for `error`. A connection without a response for `silenceMs` is considered lost. */
export function openRedisClient(address: RedisAddress, role: RedisRole, silenceMs: number): RedisClient {
  const options = { connectionName: `remora-${role}`, ...commonOf(address), ...retryOptions(role, silenceMs) };
  const tls = address.isTls ? { tls: {} } : {};
  switch (address.type) {
    case "single":
      return new Redis({ ...options, ...tls, ...address.node, db: address.database, retryStrategy: delayBefore });
    case "sentinel":
      return new Redis({
        ...options,
        ...tls,
        ...(address.isTls ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
        ...(address.password === undefined ? {} : { sentinelPassword: address.password }),
        sentinels: address.sentinels,
        name: address.masterName,
        db: address.database,
        retryStrategy: delayBefore,
        sentinelRetryStrategy: delayBefore,
      });
    case "cluster": {
      if (role === "subscriber") return openClusterSubscriber(address, { ...options, ...tls });
      const { enableOfflineQueue = true, ...redisOptions } = options;
      return new Cluster(address.nodes, {
        enableOfflineQueue,
        redisOptions: { ...redisOptions, ...tls },
        clusterRetryStrategy: delayBefore,
        slotsRefreshTimeout: connectTimeoutMs,
        // With TLS, keep the host name, because it is checked against the certificate.
        ...(address.isTls ? { dnsLookup: (name, done) => done(null, name) } : {}),
      });
    }
    default:
      return address satisfies never;
  }
}

/**
 * One connection suffices, because every node of a cluster receives all published messages. If that connection is lost,
 * the client connects to the next node. ioredis's `Cluster` would retry without a pause while no node is reachable.
 */
function openClusterSubscriber({ nodes }: RedisAddress & { type: "cluster" }, options: Options): Redis {
  let current = 0;
  const client: Redis = new Redis({
    ...options,
    ...nodes[current],
    retryStrategy(attempt) {
      current = (current + 1) % nodes.length;
      Object.assign(client.options, nodes[current]);
      return delayBefore(attempt);
    },
  });
  return client;
}

/** Tries to connect once. The caller must listen for `error`. */
export function openProbe(address: RedisAddress & { type: "cluster" | "sentinel" }): Redis {
  const { username, password, ...options } = commonOf(address);
  const tls = address.isTls ? { tls: {} } : {};
  const login = {
    ...(address.type === "sentinel" || username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  const [node] = address.type === "sentinel" ? address.sentinels : address.nodes;
  return new Redis({ ...options, ...login, ...tls, ...node, retryStrategy: null });
}

function retryOptions(role: RedisRole, silenceMs: number): Options {
  switch (role) {
    case "commands":
      return {
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
        socketTimeout: silenceMs,
      };
    case "subscriber":
      return { maxRetriesPerRequest: null, socketTimeout: silenceMs };
    case "queue":
      return { enableOfflineQueue: false, maxRetriesPerRequest: 1, socketTimeout: silenceMs };
    case "worker":
      return { maxRetriesPerRequest: null };
    default:
      return role satisfies never;
  }
}

function commonOf({ username, password }: RedisAddress): Options {
  let lookedAt = Number.NEGATIVE_INFINITY;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    connectTimeout: connectTimeoutMs,
    keepAlive: keepAliveMs,
    maxLoadingRetryTime: maxReconnectDelayMs,
    reconnectOnError(error) {
      if (!error.message.includes("READONLY") || performance.now() - lookedAt < minSearchIntervalMs) return false;
      lookedAt = performance.now();
      return true;
    },
  };
}

function delayBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), maxReconnectDelayMs);
}
