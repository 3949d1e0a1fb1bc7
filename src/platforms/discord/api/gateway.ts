/**
 * Connects to Discord's gateway through discord.js, which identifies, resumes and reconnects. `open` retries transient
 * failures until every shard is ready, and rejects if a person must fix something. Discord does not resend what
 * happened before a new session, so the platform fetches it. Until then the shard's events wait, except interactions,
 * which must be answered within three seconds. Payloads are passed on raw so that they look like messages fetched by
 * REST.
 */
import { once } from "node:events";
import { Client, Events, GatewayDispatchEvents, type Guild, Status } from "discord.js";
import { pause } from "../../../lib/backoff.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { discordError, isPassing } from "./api.ts";
import { clientOptions } from "./client-options.ts";
import { fatalProblem } from "./gateway-problems.ts";

export interface GatewayOptions {
  token: string;
  apiUrl?: string;
  shards: number | "auto";
  log: Log;
  onDispatch(type: string, data: unknown): void;
  /** Called when a shard has a new session and discord.js has loaded the shard's servers. */
  onSession(client: Client<true>, shard: number): void;
  onGuildBack(guild: Guild): void;
  onLost(detail: string): void;
  /** Called when a session resumed and no events were missed. */
  onResumed(): void;
}

export interface Gateway {
  open(signal: AbortSignal): Promise<void>;
  client(): Client<true> | undefined;
  isConnected(): boolean;
  detail(): string;
  close(): Promise<void>;
}

const pausesMs = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const maxCloseMs = 2_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { token, log } = options;
  let current: Client | undefined;
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
      // While a new session starts, skip this: all servers are fetched later, and the bot does not know its own id yet.
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
  GatewayDispatchEvents.MessageReactionAdd,
  GatewayDispatchEvents.MessageReactionRemove,
  GatewayDispatchEvents.InteractionCreate,
  GatewayDispatchEvents.ChannelDelete,
  GatewayDispatchEvents.ThreadDelete,
] as const;

/** Skips events that discord.js can't read. They would cause an uncaught exception, which would end the process. */
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

/** Rejects as soon as the signal aborts, because connecting may hang. */
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

/** Waits only briefly, because a silent peer does not answer a close either. */
async function closeClient(client: Client): Promise<void> {
  client.ws.removeAllListeners();
  await withTimeout(
    maxCloseMs,
    client.destroy().catch(() => {}),
  );
}
