/**
 * One shard's connection. `@discordjs/ws` identifies, resumes and reconnects by itself, also with the session of a process that
 * has ended. An event is settled once everything it says is safe. Only the number before the first unsettled event is stored,
 * so the next process gets all others again.
 *
 * Discord does not resend what happened before a new session, so READY and each server's GUILD_CREATE settle when that has
 * been fetched. Until its GUILD_CREATE, a server's events wait, except interactions, which must be answered within three
 * seconds. Interactions of a former process are too old for an answer, and are left out.
 */
import { createRequire } from "node:module";
import type { SessionInfo, WebSocketShard } from "@discordjs/ws";
import {
  type APIGatewayBotInfo,
  type GatewayDispatchPayload,
  GatewayIntentBits,
  type GatewayReadyDispatchData,
  GatewayDispatchEvents as Type,
} from "discord.js";
import { messageOf, type RemoraError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { fatalProblem } from "../api/gateway-problems.ts";
import type { SessionWriter, StoredSession } from "./sessions.ts";

// Required, not imported: with a proxy, the library's socket class is replaced before (proxy/gateway-socket.ts).
const library = createRequire(import.meta.url)("@discordjs/ws") as typeof import("@discordjs/ws");

export type ShardState = "connecting" | "ready" | "disconnected";

export interface ShardOptions {
  id: number;
  count: number;
  token: string;
  info: APIGatewayBotInfo;
  /** Of a former process. */
  session: StoredSession | undefined;
  sessions: SessionWriter;
  /** Rejects with a `RemoraError` if a person must fix something, or if the signal aborts. */
  waitToIdentify(signal: AbortSignal): Promise<void>;
  /** Resolves once everything that the event says is safe. May throw. */
  onDispatch(type: string, data: unknown): Promise<unknown> | undefined;
  /** A new session. Resolves once what happened before it has been fetched. */
  onSession(): Promise<unknown>;
  onResumed(): void;
  onLost(detail: string): void;
  /** A connection could not be opened or broke. It is tried again. */
  onFailed(error: string): void;
  log: Log;
}

export interface Shard {
  id: number;
  /** Resolves when the shard is ready for the first time, or is closed. Rejects if a person must fix something. */
  open(): Promise<void>;
  state(): ShardState;
  bot(): StoredSession["bot"] | undefined;
  /** Number of servers. */
  guilds(): number;
  /** Keeps the session, so that another process can resume it. */
  close(): Promise<void>;
}

const maxCloseMs = 2_000;
/** Discord ends a session that is closed with 1000, but not with this code. */
const resumableCode = 4200;
const intents =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.DirectMessageReactions |
  GatewayIntentBits.MessageContent;
/** A server with an older join was there before, and only its outage is over. */
const newGuildMs = 60_000;
const guildEvents: readonly string[] = [Type.GuildCreate, Type.GuildDelete];

export function createShard(options: ShardOptions): Shard {
  const { id, count, token, info, sessions, log } = options;
  let live: SessionInfo | null = options.session ?? null;
  let { bot, guilds = 0 } = options.session ?? {};
  let settledFrom = options.session?.sequence ?? Number.POSITIVE_INFINITY;
  let newest = options.session?.sequence ?? 0;
  let isReplay = options.session !== undefined;
  let unsettled = new Set<number>();
  /** Servers without GUILD_CREATE so far, with the events that wait for it. */
  const waiting = new Map<string, (() => void)[]>();
  let state: ShardState = "connecting";
  let isClosed = false;
  const first = Promise.withResolvers<void>();

  const connection: WebSocketShard = new library.WebSocketShard(
    {
      options: {
        ...library.DefaultWebSocketManagerOptions,
        ...{ token, intents, shardCount: count, gatewayInformation: info, compression: null },
      },
      // A closed shard that was about to reconnect waits here for ever.
      retrieveSessionInfo: () => (isClosed ? new Promise(() => {}) : Promise.resolve(live)),
      async updateSessionInfo(_id, session) {
        if (isClosed) return;
        live = session;
        if (session === null) sessions.keep(undefined);
      },
      waitForIdentify: (_id, signal) => mayIdentify(signal),
    },
    id,
  );

  async function mayIdentify(signal: AbortSignal): Promise<void> {
    try {
      await options.waitToIdentify(signal);
    } catch (thrown) {
      const fatal = signal.aborted ? undefined : fatalProblem(thrown);
      if (fatal !== undefined) {
        fail(fatal);
        void close();
      }
      throw thrown;
    }
  }

  function keepSession(): void {
    const [oldest] = unsettled;
    const sequence = oldest === undefined ? newest : oldest - 1;
    if (live !== null && bot !== undefined && sequence >= settledFrom)
      sessions.keep({ ...live, sequence, guilds, bot });
  }

  function track(sequence: number, work: Promise<unknown> | undefined): void {
    newest = Math.max(newest, sequence);
    if (work === undefined) {
      keepSession();
      return;
    }
    const session = unsettled;
    session.add(sequence);
    // Work that failed is not safe: the next process gets it again.
    work.then(
      () => {
        session.delete(sequence);
        keepSession();
      },
      (thrown) => log.warn({ shard: id, error: messageOf(thrown) }, "could not finish the work of a Discord event"),
    );
  }

  function handOn(type: string, data: unknown): Promise<unknown> | undefined {
    try {
      return options.onDispatch(type, data);
    } catch (thrown) {
      log.error({ event: type, error: messageOf(thrown) }, "could not read a Discord event");
      return undefined;
    }
  }

  function take({ t: type, d: data, s: sequence }: GatewayDispatchPayload): void {
    // Here and not at the library's own event, which comes before the last replayed ones.
    if (type === Type.Resumed) isReplay = false;
    if (type === Type.Ready || type === Type.Resumed) return;
    if (type === Type.InteractionCreate) {
      if (!isReplay) void handOn(type, data);
      track(sequence, undefined);
      return;
    }
    const isGuild = guildEvents.includes(type);
    const guildId = (data as { id?: string; guild_id?: string } | null)?.[isGuild ? "id" : "guild_id"] ?? "";
    const behind = waiting.get(guildId);
    if (behind !== undefined && !isGuild) {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      behind.push(() => resolve(handOn(type, data)));
      track(sequence, promise);
      return;
    }
    track(sequence, handOn(type, data));
    if (!isGuild) return;
    if (behind === undefined) countGuild(type, data);
    waiting.delete(guildId);
    for (const run of behind ?? []) run();
  }

  function countGuild(type: string, data: unknown): void {
    const { joined_at: joined = "", unavailable } = data as { joined_at?: string; unavailable?: boolean };
    if (type === Type.GuildCreate && Date.now() - Date.parse(joined) < newGuildMs) guilds += 1;
    if (type === Type.GuildDelete && unavailable !== true) guilds -= 1;
  }

  function begin({ user, application, guilds: present }: GatewayReadyDispatchData, sequence: number): void {
    isReplay = false;
    bot = { id: user.id, name: user.username, applicationId: application.id };
    guilds = present.length;
    unsettled = new Set();
    waiting.clear();
    for (const guild of present) waiting.set(guild.id, []);
    newest = sequence;
    // Until READY is settled, nothing could be resumed.
    settledFrom = sequence;
    track(sequence, options.onSession());
    standing();
  }

  function standing(): void {
    state = "ready";
    first.resolve();
  }

  function lost(code: number): void {
    if (isClosed) return;
    const fatal = fatalProblem({ code });
    state = fatal === undefined ? "connecting" : "disconnected";
    if (fatal !== undefined) fail(fatal);
    else options.onLost(`shard ${id} lost its connection; reconnecting`);
  }

  function fail(fatal: RemoraError): void {
    log.error({ shard: id, code: fatal.code }, fatal.message);
    first.reject(fatal);
    options.onLost(fatal.message);
  }

  async function close(): Promise<void> {
    isClosed = true;
    state = "disconnected";
    first.resolve();
    // Waits only briefly, because a silent peer does not answer a close either.
    await withTimeout(
      maxCloseMs,
      connection.destroy({ code: resumableCode }).catch(() => {}),
    );
    await sessions.close();
  }

  const { WebSocketShardEvents: Events } = library;
  connection.on(Events.Ready, ({ data }) => begin(data, live?.sequence ?? 0));
  connection.on(Events.Resumed, () => {
    standing();
    options.onResumed();
  });
  connection.on(Events.Dispatch, ({ data }) => take(data));
  connection.on(Events.Closed, ({ code }) => lost(code));
  connection.on(Events.Error, ({ error }) => {
    if (isClosed || state === "disconnected") return;
    log.warn({ shard: id, error: error.message }, "a gateway connection failed; retrying");
    options.onFailed(error.message);
  });

  return {
    id,
    async open() {
      first.promise.catch(() => {});
      // Its own promise also ends with the first passing failure.
      connection.connect().catch(() => {});
      await first.promise;
    },
    state: () => state,
    bot: () => bot,
    guilds: () => guilds,
    close,
  };
}
