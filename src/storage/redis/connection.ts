/**
 * The connection to Redis that everything in this folder shares: it reads the address, opens clients by what they are for,
 * says in the log when Redis goes away and comes back, and never gives up.
 *
 * A command goes through `run`, which waits while Redis is away, up to a bound (wait.ts).
 */
import type { Log } from "../../lib/log.ts";
import { warningsOf } from "./checks.ts";
import { openRedisClient, type RedisClient, type RedisRole } from "./clients.ts";
import { asRedisError, isNoDatabase, isRefusal } from "./errors.ts";
import { followSeveral, noteOutages } from "./outages.ts";
import { parseRedisUrl, type RedisAddress } from "./url.ts";
import { closedError, type Line, patiently } from "./wait.ts";

export interface RedisHealth {
  isConnected: boolean;
  /** The address without its password, and what is wrong with it. */
  detail: string;
}

export interface RunOptions {
  /** What messages begin with: `ledger`. The address is put behind it. */
  place: string;
  /** How long it waits while Redis is away; default the connection's. */
  waitMs?: number;
}

export interface RedisConnection {
  address: RedisAddress;
  /** Never to be shown: the password, or nothing. */
  secrets: string[];
  /** How long a command waits while Redis is away, in milliseconds. */
  waitMs: number;
  /** The shared one. What can't be sent at once is rejected at once; `run` waits. */
  client(): RedisClient;
  /**
   * Sends a command that may be repeated: it is sent again when the connection was cut before the answer. Rejects with a
   * RemoraError: `storage.unreachable` after the bound, and what Redis's error answers mean.
   */
  run<T>(options: RunOptions, send: (client: RedisClient) => Promise<T>): Promise<T>;
  /** The shared one for `subscribe`; subscribes again after each cut. */
  subscriber(): RedisClient;
  /** A new one each time, for BullMQ: `queue` to add jobs, `worker` for workers and events. Closed with the connection. */
  forBullMq(role: "queue" | "worker"): RedisClient;
  health(): RedisHealth;
  /** What should be changed about the server, in sentences; empty when all is well. */
  checks(): Promise<string[]>;
  /** Waits while Redis is away, and says so. Rejects when it refuses the password, and with the signal's reason. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** From now on nothing waits for long while Redis is away, for the process is to end. */
  hurry(): void;
  close(): Promise<void>;
}

export interface RedisConnectionOptions {
  waitMs?: number;
  /** How often the log says that Redis is still away. */
  reminderMs?: number;
  /** How long a command may stay unanswered before its connection counts as cut. */
  silenceMs?: number;
}

const defaultWaitMs = 20_000;
const defaultReminderMs = 30_000;
const defaultSilenceMs = 10_000;

/** Connects at once, and goes on trying. Throws a RemoraError when the address can't be read. */
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
    // Each error is either followed by another try to connect or given to whoever sent the command.
    client.on("error", (error: Error) => log.debug({ role, error: error.message }, "a Redis connection has trouble"));
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
  else followSeveral(client, address, { isClosed: () => isClosed, trouble });
  client.on("ready", () => {
    if (!isNoDatabase(lastError)) lastError = undefined;
    changed();
  });

  const line: Line = {
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
  const stopNoting = noteOutages(line, place, log, options.reminderMs ?? defaultReminderMs);

  const run: RedisConnection["run"] = (wanted, send) =>
    patiently(line, { place: `${wanted.place} ${address.name}`, waitMs: wanted.waitMs ?? waitMs }, () => send(client));

  return {
    address,
    secrets: address.password === undefined ? [] : [address.password],
    waitMs,
    client: () => client,
    run,
    subscriber: () => (subscriber ??= open("subscriber")),
    forBullMq: (role) => open(role),
    health: () => ({
      isConnected: line.isUp(),
      detail: line.isUp() ? address.name : `${address.name} can't be reached: ${lastError?.message || "not connected"}`,
    }),
    checks: () => warningsOf((send) => run({ place: "Redis" }, send)),
    whenReady: (signal) => untilReady(line, place, signal),
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

function untilReady(line: Line, place: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => {
      stop();
      signal.removeEventListener("abort", look);
      finish();
    };
    const look = () => {
      const refusal = line.refusal();
      if (signal.aborted) settle(() => reject(signal.reason));
      else if (line.isClosed()) settle(() => reject(closedError(place)));
      else if (line.isUp()) settle(resolve);
      else if (refusal !== undefined) settle(() => reject(asRedisError(refusal, place)));
    };
    const stop = line.onChange(look);
    signal.addEventListener("abort", look);
    look();
  });
}
