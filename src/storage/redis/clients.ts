/**
 * ioredis clients by what they are for. All of them connect again for ever, at most 2 s apart; they differ in what becomes
 * of a command while Redis is away.
 */
import { Cluster, type CommonRedisOptions, Redis } from "ioredis";
import type { RedisAddress } from "./url.ts";

export type RedisClient = Redis | Cluster;

/**
 * - `commands`: nothing waits inside the client. What can't be sent, or was under way when the connection was cut, is
 *   rejected at once; whoever sent it decides (wait.ts).
 * - `subscriber`: subscribes again by itself.
 * - `queue`: adds jobs; rejects at once while Redis is away.
 * - `worker`: waits for jobs with commands that block, for as long as it takes.
 */
export type RedisRole = "commands" | "subscriber" | "queue" | "worker";

type Options = Omit<CommonRedisOptions, "replyMapping">;

const longestDelayMs = 2_000;
const connectTimeoutMs = 5_000;
const keepAliveMs = 10_000;
/** A replica in a primary's place: look again where the primary is, but not with every refused write. */
const lookAgainMs = 2_000;

/**
 * Connects at once. The caller listens for `error`. A connection that was cut without a word shows by a command that is
 * not answered for `silenceMs`.
 */
export function openRedisClient(address: RedisAddress, role: RedisRole, silenceMs: number): RedisClient {
  const options = { connectionName: `remora-${role}`, ...commonOf(address), ...patienceOf(role, silenceMs) };
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
        // A certificate is made out to a name, so with TLS the name stays.
        ...(address.isTls ? { dnsLookup: (name, done) => done(null, name) } : {}),
      });
    }
    default:
      return address satisfies never;
  }
}

/**
 * Each node of a cluster hears what is published on any of them, so one connection will do; after a cut it goes to the
 * next node. A `Cluster` would do the same, but tries again without any pause while no node is there.
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

/** A plain connection to the first of several nodes or sentinels that tries once. The caller listens for `error`. */
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

function patienceOf(role: RedisRole, silenceMs: number): Options {
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
    maxLoadingRetryTime: longestDelayMs,
    reconnectOnError(error) {
      if (!error.message.includes("READONLY") || performance.now() - lookedAt < lookAgainMs) return false;
      lookedAt = performance.now();
      return true;
    },
  };
}

function delayBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt - 1, 10), longestDelayMs);
}
