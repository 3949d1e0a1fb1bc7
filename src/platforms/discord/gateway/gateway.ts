/**
 * Discord's gateway: opens the shards that this process holds, and closes those that it gives up. `open` retries transient
 * failures until every shard is ready, and rejects if a person must fix something. Payloads are passed on raw so that they look
 * like messages fetched by REST.
 */
import { type APIGatewayBotInfo, Routes } from "discord.js";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { Store } from "../../../ports/store.ts";
import { type DiscordApi, discordError, isPassing } from "../api/api.ts";
import { fatalProblem } from "../api/gateway-problems.ts";
import { waitToIdentify } from "./identify-throttle.ts";
import { createSessions, type StoredSession } from "./sessions.ts";
import { createShard, type Shard } from "./shard.ts";
import { createShardPlan, type ShardPlanOptions } from "./shard-plan.ts";

export interface GatewayOptions extends Pick<ShardPlanOptions, "leases" | "shared"> {
  token: string;
  api: DiscordApi;
  shards: number | "auto";
  store: Store;
  /** Called before the shard connects. */
  onGained(shard: number, count: number): Promise<void>;
  /** Called after the shard was closed. */
  onReleased(shard: number): Promise<void>;
  /** Resolves once everything that the event says is safe. */
  onDispatch(type: string, data: unknown, shard: number): Promise<unknown> | undefined;
  /** Called when a shard has a new session. Resolves once what happened before it has been fetched. */
  onSession(shard: number, count: number): Promise<unknown>;
  /** Called when a session resumed and no events were missed. */
  onResumed(): void;
  onLost(detail: string): void;
  /** A token that is refused at the start rejects `open`. With this, it is tried again after the call of `onRefused`. */
  refusedTokenRetryMs?: number | undefined;
  onRefused(): void;
  log: Log;
}

export interface Gateway {
  open(signal: AbortSignal): Promise<void>;
  /** Undefined before the first session. */
  bot(): StoredSession["bot"] | undefined;
  isConnected(): boolean;
  detail(): string;
  close(): Promise<void>;
}

const pausesMs = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const retryMs = 1_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { api, leases, log } = options;
  const sessions = createSessions(options.store, log);
  const shards = new Map<number, Shard>();
  const loading = new Map<number, Promise<Shard | undefined>>();
  const opening = new Map<number, Promise<void>>();
  let shardCount = 0;
  let hasConnected = false;
  let problem = "not connected yet";
  let isClosed = false;
  const ended = new AbortController();
  let info: Promise<APIGatewayBotInfo> | undefined;
  let formerBot: StoredSession["bot"] | undefined;

  const plan = createShardPlan({
    ...options,
    onGained(shard, count) {
      const made = loadPatiently(shard, count);
      loading.set(shard, made);
      const work = made.then((each) => each?.open());
      // A failed first connection is reported to `connect`'s caller; later ones only go to the log.
      work.catch(() => {});
      opening.set(shard, work);
    },
    async onReleased(shard) {
      const released = await loading.get(shard);
      await released?.close();
      // Messages are compared with it also while no shard is held.
      formerBot = released?.bot() ?? formerBot;
      shards.delete(shard);
      opening.delete(shard);
      await options.onReleased(shard);
    },
  });

  /** Undefined if the gateway was closed meanwhile. */
  async function loadPatiently(id: number, count: number): Promise<Shard | undefined> {
    while (!isClosed) {
      try {
        return await load(id, count);
      } catch (thrown) {
        log.warn({ shard: id, error: messageOf(thrown) }, "could not open a shard; retrying");
        await pause(retryMs, ended.signal);
      }
    }
    return undefined;
  }

  async function load(id: number, count: number): Promise<Shard> {
    await options.onGained(id, count);
    const session = await sessions.load(id, count);
    const shard = createShard({
      ...{ id, count, session, token: options.token, log, info: await gatewayInfo() },
      sessions: sessions.writer(id, session),
      waitToIdentify: (signal) => mayIdentify(id, signal),
      onDispatch: (type, data) => options.onDispatch(type, data, id),
      onSession: () => options.onSession(id, count),
      onResumed: options.onResumed,
      onLost(detail) {
        if (hasConnected) problem = detail;
        if (!isClosed) options.onLost(detail);
      },
      onFailed(error) {
        if (!hasConnected) problem = `can't reach Discord: ${error}`;
      },
    });
    shards.set(id, shard);
    return shard;
  }

  function gatewayInfo(): Promise<APIGatewayBotInfo> {
    info ??= api.request<APIGatewayBotInfo>({ method: "GET", route: Routes.gatewayBot() });
    info.catch(() => {
      info = undefined;
    });
    return info;
  }

  /** More sessions than Discord allows in a day would void the token. */
  async function mayIdentify(shard: number, signal: AbortSignal): Promise<void> {
    const { session_start_limit: limit } = await gatewayInfo();
    info = undefined;
    if (limit.remaining <= 0) {
      const until = new Date(Date.now() + limit.reset_after).toISOString();
      throw fatalProblem(new Error(`Not enough sessions remaining; they reset at ${until}`));
    }
    await waitToIdentify(leases, shard % limit.max_concurrency, signal);
  }

  async function openAll(signal: AbortSignal): Promise<void> {
    const { shards: recommended } = await gatewayInfo();
    shardCount = await plan.start(options.shards === "auto" ? recommended : options.shards, signal);
    await Promise.all(opening.values());
    hasConnected = true;
  }

  return {
    async open(signal) {
      for (let failures = 0; ; ) {
        try {
          // Connecting may hang.
          await untilAborted(openAll(signal), signal);
          return;
        } catch (thrown) {
          const fatal = fatalProblem(thrown);
          const retryMs = fatal?.code === "discord.token" && shardCount === 0 ? options.refusedTokenRetryMs : undefined;
          if (fatal !== undefined && (retryMs === undefined || signal.aborted)) throw fatal;
          if (fatal !== undefined) {
            problem = fatal.message;
            options.onRefused();
            await pause(retryMs ?? 0, signal);
            continue;
          }
          if (!isPassing(thrown) || signal.aborted || shardCount > 0)
            throw discordError("discord.connect", "connecting to the gateway failed", thrown);
          problem = `can't reach Discord: ${messageOf(thrown)}`;
          const wait = pausesMs[Math.min(failures++, pausesMs.length - 1)] ?? 0;
          log.warn({ error: messageOf(thrown), wait }, "can't reach Discord; retrying");
          await pause(wait, signal);
        }
      }
    },
    bot: () => [...shards.values()].map((shard) => shard.bot()).find((bot) => bot !== undefined) ?? formerBot,
    isConnected: () => !isClosed && hasConnected && [...shards.values()].every((shard) => shard.state() === "ready"),
    detail() {
      if (isClosed) return "disconnected";
      if (!hasConnected) return problem;
      const all = [...shards.values()];
      if (all.length === 0) return "standing by: other processes receive Discord's events";
      if (all.some((shard) => shard.state() === "disconnected")) return problem;
      if (all.some((shard) => shard.state() !== "ready"))
        return all.map((shard) => `shard ${shard.id}: ${shard.state()}`).join(", ");
      const servers = all.reduce((sum, shard) => sum + shard.guilds(), 0);
      const who = `connected as ${all[0]?.bot()?.name} in ${servers} ${servers === 1 ? "server" : "servers"}`;
      if (shardCount === 1) return who;
      return `${who}, ${all.length === shardCount ? "" : `${all.length} of `}${shardCount} shards ready`;
    },
    async close() {
      isClosed = true;
      ended.abort();
      await plan.close();
    },
  };
}
