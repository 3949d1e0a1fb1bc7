/** The shared connection to Redis. It opens a client for each purpose, logs outages, and keeps trying to reconnect. */
import type { Log } from "../../lib/log.ts";
import { warningsOf } from "./checks.ts";
import { openRedisClient, type RedisClient, type RedisRole } from "./clients.ts";
import { asRedisError, isNoDatabase, isRefusal } from "./errors.ts";
import { logOutages, watchNodes } from "./outages.ts";
import { parseRedisUrl, type RedisAddress } from "./url.ts";
import { closedError, type RedisLink, retryWhileAway } from "./wait.ts";

export interface RedisHealth {
  isConnected: boolean;
  /** The address without its password, and the current problem, if any. */
  detail: string;
}

export interface RunOptions {
  place: string;
  waitMs?: number;
}

export interface RedisConnection {
  address: RedisAddress;
  /** The password, if there is one. Must never be shown. */
  secrets: string[];
  /** How long a command waits while Redis is unreachable. */
  waitMs: number;
  /** The shared client. It immediately rejects commands that can't be sent, whereas `run` waits. */
  client(): RedisClient;
  /**
   * Sends a command that may be repeated. If the connection is lost before the response, sends it again. Rejects with a
   * RemoraError: `storage.unreachable` after the limit, or an error that explains Redis's own error.
   */
  run<T>(options: RunOptions, send: (client: RedisClient) => Promise<T>): Promise<T>;
  subscriber(): RedisClient;
  /** Opens a client for BullMQ, closed with this connection. `queue` adds jobs; `worker` is for workers and events. */
  forBullMq(role: "queue" | "worker"): RedisClient;
  health(): RedisHealth;
  checks(): Promise<string[]>;
  /** Waits until Redis is reachable. Rejects if Redis refuses the password, or with the signal's reason on abort. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** Call when the process is about to end. From then on, commands wait only briefly. */
  hurry(): void;
  close(): Promise<void>;
}

export interface RedisConnectionOptions {
  waitMs?: number;
  reminderMs?: number;
  /** If a command gets no response for this long, the connection is considered lost. */
  silenceMs?: number;
}

const defaultWaitMs = 20_000;
const defaultReminderMs = 30_000;
const defaultSilenceMs = 10_000;

/** Connects immediately and keeps trying. Throws a RemoraError if the address is invalid. */
export function createRedisConnection(url: string, log: Log, options: RedisConnectionOptions = {}): RedisConnection {
  const address = parseRedisUrl(url);
  const waitMs = options.waitMs ?? defaultWaitMs;
  const opened: RedisClient[] = [];
  const listeners = new Set<() => void>();
  const place = `Redis ${address.name}`;
  let isClosed = false;
  let isHurried = false;
  let lastError: Error | undefined;
  let subscriber: RedisClient | undefined;

  function open(role: RedisRole): RedisClient {
    if (isClosed) throw closedError(place);
    const client = openRedisClient(address, role, options.silenceMs ?? defaultSilenceMs);
    // Only log at debug level, because the client reconnects or the sender of the command gets the error.
    client.on("error", (error: Error) => log.debug({ role, error: error.message }, "a Redis connection failed"));
    opened.push(client);
    client.once("end", () => opened.splice(opened.indexOf(client), 1));
    return client;
  }

  const changed = () => {
    for (const listener of [...listeners]) listener();
  };
  const client = open("commands");
  const trouble = (error?: Error) => {
    lastError = error ?? lastError;
    changed();
  };
  if (address.type === "single") client.on("error", trouble).on("close", changed);
  else watchNodes(client, address, { isClosed: () => isClosed, trouble });
  client.on("ready", () => {
    if (!isNoDatabase(lastError)) lastError = undefined;
    changed();
  });

  const link: RedisLink = {
    isUp: () => client.status === "ready" && !isNoDatabase(lastError),
    isClosed: () => isClosed,
    refusal: () => (isRefusal(lastError) ? lastError : undefined),
    trouble: () => lastError?.message ?? "",
    isReadOnlyPassing: address.type !== "single",
    isHurried: () => isHurried,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const stopNoting = logOutages(link, place, log, options.reminderMs ?? defaultReminderMs);

  const run: RedisConnection["run"] = (wanted, send) =>
    retryWhileAway(link, { place: `${wanted.place} ${address.name}`, waitMs: wanted.waitMs ?? waitMs }, () =>
      send(client),
    );

  return {
    address,
    secrets: address.password === undefined ? [] : [address.password],
    waitMs,
    client: () => client,
    run,
    subscriber: () => (subscriber ??= open("subscriber")),
    forBullMq: (role) => open(role),
    health: () => ({
      isConnected: link.isUp(),
      detail: link.isUp() ? address.name : `${address.name} can't be reached: ${lastError?.message || "not connected"}`,
    }),
    checks: () => warningsOf((send) => run({ place: "Redis" }, send)),
    whenReady: (signal) => untilReady(link, place, signal),
    hurry() {
      isHurried = true;
      changed();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      stopNoting();
      changed();
      for (const each of [...opened]) each.disconnect();
    },
  };
}

function untilReady(link: RedisLink, place: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      stop();
      signal.removeEventListener("abort", look);
      finish();
    };
    const look = () => {
      const refusal = link.refusal();
      if (signal.aborted) settle(() => reject(signal.reason));
      else if (link.isClosed()) settle(() => reject(closedError(place)));
      else if (link.isUp()) settle(resolve);
      else if (refusal !== undefined) settle(() => reject(asRedisError(refusal, place)));
    };
    const stop = link.onChange(look);
    signal.addEventListener("abort", look);
    look();
  });
}
