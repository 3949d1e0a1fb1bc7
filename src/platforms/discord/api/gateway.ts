/**
 * The connection to Discord's gateway, by discord.js: it identifies, resumes after a cut, and comes back by itself.
 *
 *   open     until every shard is ready. A passing failure is tried again for as long as it takes; what only a person can repair
 *            (token, intents, sharding) rejects with the place where it is repaired
 *   session  a shard has a new session: what happened before it is not sent again, so the platform fetches it. What the shard brings
 *            until then waits behind that; only interactions do not, because they must be answered within three seconds
 *
 * Payloads are handed on as they come, because what is fetched later by REST looks the same; discord.js's caches serve as knowledge of
 * servers and channels.
 */
import { once } from "node:events";
import {
  Client,
  type ClientOptions,
  Events,
  GatewayDispatchEvents,
  GatewayIntentBits,
  type Guild,
  Options,
  Partials,
  Status,
} from "discord.js";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { discordError, isPassing } from "./api.ts";
import { fatalProblem } from "./gateway-problems.ts";

export interface GatewayOptions {
  token: string;
  apiUrl?: string;
  shards: number | "auto";
  log: Log;
  onDispatch(type: string, data: unknown): void;
  /** A shard has a new session, and discord.js knows its servers. */
  onSession(client: Client<true>, shard: number): void;
  /** A server is back after an outage. */
  onGuildBack(guild: Guild): void;
  onLost(detail: string): void;
  /** All is as it was: nothing was missed. */
  onResumed(): void;
}

export interface Gateway {
  open(signal: AbortSignal): Promise<void>;
  /** Undefined until it is connected for the first time. */
  client(): Client<true> | undefined;
  isConnected(): boolean;
  detail(): string;
  close(): Promise<void>;
}

const pausesMs = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A server that is away must not hold up the others. */
const waitForGuildsMs = 3_000;
const closeMs = 2_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { token, log } = options;
  let current: Client | undefined;
  /** Once a shard of it is ready. */
  let known: Client<true> | undefined;
  let hasConnected = false;
  let problem = "not connected yet";
  let isClosed = false;

  async function attempt(): Promise<void> {
    const client = new Client(clientOptions(options));
    current = client;
    watch(client);
    const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
    try {
      await client.login(token);
      known = await ready;
      hasConnected = true;
    } catch (thrown) {
      await closeClient(client);
      throw thrown;
    }
  }

  function handOn(type: string, data: unknown): void {
    try {
      options.onDispatch(type, data);
    } catch (thrown) {
      log.error({ event: type, error: messageOf(thrown) }, "could not read a Discord event");
    }
  }

  function watch(client: Client): void {
    leaveOutUnreadable(client, log);
    const waiting = new Map<number, (() => void)[]>();
    client.ws.on(GatewayDispatchEvents.Ready, (_data, shard) => waiting.set(shard, []));
    for (const type of heardEvents) {
      client.ws.on(type, (data, shard) => {
        const behind = type === GatewayDispatchEvents.InteractionCreate ? undefined : waiting.get(shard);
        if (behind === undefined) handOn(type, data);
        else behind.push(() => handOn(type, data));
      });
    }
    client.on(Events.ShardReady, (shard) => {
      known = client as Client<true>;
      options.onSession(known, shard);
      const behind = waiting.get(shard) ?? [];
      waiting.delete(shard);
      for (const dispatch of behind) dispatch();
    });
    client.on(Events.GuildAvailable, (guild) => {
      // Those that a new session brings are fetched with it: before that it is not even known who the bot is.
      if (!waiting.has(guild.shardId)) options.onGuildBack(guild);
    });
    client.on(Events.ShardError, (thrown, shard) =>
      log.warn({ shard, error: thrown.message }, "a gateway connection failed"),
    );
    client.on(Events.Error, (thrown) => log.error({ error: thrown.message }, "discord.js reports an error"));
    client.on(Events.Warn, (message) => log.warn({ message }, "discord.js reports a warning"));
    client.on(Events.ShardReconnecting, (shard) => {
      if (!isClosed) options.onLost(`shard ${shard} lost its connection; reconnecting`);
    });
    client.on(Events.ShardResume, options.onResumed);
    client.on(Events.ShardDisconnect, ({ code }, shard) => {
      const reason =
        fatalProblem({ code })?.message ??
        `shard ${shard} was disconnected and won't reconnect (${code}). Restart Remora`;
      problem = reason;
      if (isClosed) return;
      log.error({ shard, code }, reason);
      options.onLost(reason);
    });
  }

  return {
    async open(signal) {
      for (let failures = 0; ; ) {
        try {
          await unlessAborted(attempt(), signal);
          return;
        } catch (thrown) {
          const fatal = fatalProblem(thrown);
          if (fatal !== undefined) throw fatal;
          const isTrouble = isPassing(thrown) || isConnectionTrouble(thrown);
          if (!isTrouble) throw discordError("discord.connect", "connecting to the gateway failed", thrown);
          problem = `can't reach Discord: ${messageOf(thrown)}`;
          const wait = pausesMs[Math.min(failures++, pausesMs.length - 1)] ?? 0;
          log.warn({ error: messageOf(thrown), wait }, "can't reach Discord; retrying");
          await pause(wait, signal);
          if (signal.aborted) throw discordError("discord.unreachable", problem, thrown);
        }
      }
    },
    client: () => known,
    isConnected: () =>
      !isClosed && hasConnected && known !== undefined && shardsOf(known).every(({ isReady }) => isReady),
    detail() {
      if (isClosed) return "disconnected";
      if (known === undefined || !hasConnected) return problem;
      const shards = shardsOf(known);
      if (shards.some(({ status }) => status === Status.Disconnected)) return problem;
      const servers = known.guilds.cache.size;
      const who = `connected as ${known.user.username} in ${servers} ${servers === 1 ? "server" : "servers"}`;
      if (shards.every(({ isReady }) => isReady))
        return shards.length === 1 ? who : `${who}, ${shards.length} shards ready`;
      return shards.map(({ id, status }) => `shard ${id}: ${Status[status]?.toLowerCase() ?? status}`).join(", ");
    },
    async close() {
      isClosed = true;
      if (current !== undefined) await closeClient(current);
    },
  };
}

const heardEvents = [
  GatewayDispatchEvents.MessageCreate,
  GatewayDispatchEvents.MessageUpdate,
  GatewayDispatchEvents.MessageDelete,
  GatewayDispatchEvents.MessageDeleteBulk,
  GatewayDispatchEvents.InteractionCreate,
  GatewayDispatchEvents.ChannelDelete,
  GatewayDispatchEvents.ThreadDelete,
] as const;

function clientOptions({ apiUrl, shards }: GatewayOptions): ClientOptions {
  return {
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    partials: [Partials.Channel],
    ...(shards === "auto" ? { shards } : { shardCount: shards, shards: Array.from({ length: shards }, (_, id) => id) }),
    // Messages go through once and are not looked at again; of people only those seen last are kept.
    makeCache: Options.cacheWithLimits({
      ...Options.DefaultMakeCacheSettings,
      MessageManager: 0,
      ReactionManager: 0,
      PresenceManager: 0,
      VoiceStateManager: 0,
      GuildStickerManager: 0,
      GuildScheduledEventManager: 0,
      ThreadMemberManager: 0,
      UserManager: { maxSize: 500, keepOverLimit: (user) => user.id === user.client.user.id },
      GuildMemberManager: { maxSize: 100, keepOverLimit: (member) => member.id === member.client.user.id },
    }),
    waitGuildTimeout: waitForGuildsMs,
    rest: { retries: 0, timeout: 15_000, ...(apiUrl === undefined ? {} : { api: apiUrl }) },
  };
}

/** discord.js throws on an event that is not as it knows it, where nobody can catch it: the process would end. */
function leaveOutUnreadable({ ws }: Client, log: Log): void {
  const manager = ws as unknown as { handlePacket(packet?: { t?: string }, shard?: unknown): boolean };
  const handle = manager.handlePacket.bind(manager);
  manager.handlePacket = (packet, shard) => {
    try {
      return handle(packet, shard);
    } catch (thrown) {
      log.error({ event: packet?.t, error: messageOf(thrown) }, "discord.js could not read a Discord event");
      return true;
    }
  };
}

function shardsOf(client: Client<true>): { id: number; status: Status; isReady: boolean }[] {
  return [...client.ws.shards.values()].map(({ id, status }) => ({ id, status, isReady: status === Status.Ready }));
}

function isConnectionTrouble(thrown: unknown): boolean {
  return /socket|handshake|unexpected server response|websocket/i.test(messageOf(thrown));
}

/** Rejects as soon as the signal aborts: what can't connect may hang for long. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const left = new AbortController();
  const aborted = once(signal, "abort", { signal: left.signal }).then(() => signal.throwIfAborted());
  await Promise.race([work, aborted]).finally(() => {
    left.abort();
    aborted.catch(() => {});
    work.catch(() => {});
  });
}

/** A peer that says nothing any more does not answer a close either. */
async function closeClient(client: Client): Promise<void> {
  client.ws.removeAllListeners();
  const waited = new AbortController();
  await Promise.race([client.destroy().catch(() => {}), pause(closeMs, waited.signal)]);
  waited.abort();
}
