/**
 * Gateway v10 over WebSocket: hello, heartbeats, identify, resume, and the close codes for whoever does it wrong.
 *
 * A session outlives its connection: after a cut, or a close with any code but 1000 and 1001, the client may resume it and
 * gets what it missed.
 */
import type { IncomingMessage, Server } from "node:http";
import { GatewayIntentBits } from "discord.js";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { isFields } from "./fields.ts";
import { applicationFlags, guildCreatePayload, userPayload } from "./payloads.ts";
import { createSessions, type Session, type Sessions, shardOf } from "./sessions.ts";
import { userOf, type World } from "./world.ts";

export interface GatewaySettings {
  heartbeatMs: number;
  /** At most this many identifies in five seconds, one for each remainder of the shard id; 0: not enforced. */
  maxConcurrency: number;
  enforcesConcurrency: boolean;
  /** Identifies left today; at 0 every session ends and the token is void. */
  sessionsLeft: number;
  recommendedShards: number;
  /** Fewer shards than this are refused with 4011. */
  requiredShards: number;
}

export interface Gateway {
  settings: GatewaySettings;
  sessions: Sessions;
  /** The identifies and resumes that were let in or refused, oldest first. */
  attempts: {
    type: "identify" | "resume";
    shard?: [number, number];
    intents?: number;
    isResumeUrl: boolean;
    outcome: string;
  }[];
  connections(): number;
  /** The TCP connections break without a word. */
  cut(): void;
  close(code: number, reason?: string): void;
  /** Op 7: the client is to come back and resume. */
  requestReconnect(): void;
  /** Op 9. */
  invalidate(isResumable: boolean): void;
  /** Connections stay open and nothing comes over them any more. */
  silence(): void;
  /** Nobody gets in until `allow`. */
  refuse(): void;
  allow(): void;
  stop(): Promise<void>;
}

const privileged = {
  messageContent: GatewayIntentBits.MessageContent,
  guildMembers: GatewayIntentBits.GuildMembers,
  presence: GatewayIntentBits.GuildPresences,
};

const knownIntents = Object.values(GatewayIntentBits)
  .filter((bit) => typeof bit === "number")
  .reduce((sum, bit) => sum | bit, 0);

/** What one connection has done so far. */
interface Connection {
  socket: WebSocket;
  session?: Session;
  isResumeUrl: boolean;
  sentAt: number[];
  lastBeat: number;
}

const commandsPerMinute = 120;
const maxPayload = 4096;

export function createGateway(world: World, server: Server, settings: GatewaySettings): Gateway {
  const sessions = createSessions(world);
  world.publish = (dispatch) => {
    sessions.publish(dispatch);
    world.changed();
  };
  const sockets = new WebSocketServer({ noServer: true });
  const connections = new Set<Connection>();
  const attempts: Gateway["attempts"] = [];
  const identifiedAt = new Map<number, number>();
  let isOpen = true;

  server.on("upgrade", (request, socket, head) => {
    if (!isOpen) {
      socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => welcome(accepted, request));
  });

  function welcome(socket: WebSocket, request: IncomingMessage): void {
    const url = new URL(request.url ?? "/", world.url);
    const isResumeUrl = url.pathname.startsWith("/resume");
    const connection: Connection = { socket, isResumeUrl, sentAt: [], lastBeat: Date.now() };
    connections.add(connection);
    const watch = setInterval(() => {
      if (Date.now() - connection.lastBeat > settings.heartbeatMs * 2) socket.close(4009, "Session timed out.");
    }, settings.heartbeatMs);
    watch.unref();
    socket.on("message", (data) => receive(connection, data));
    socket.on("error", () => socket.terminate());
    socket.on("close", (code) => {
      clearInterval(watch);
      connections.delete(connection);
      leave(connection, code);
    });
    if (url.searchParams.get("v") !== "10") socket.close(4012, "Invalid API version");
    else if (url.searchParams.get("encoding") !== "json") socket.close(4002, "This double speaks json only.");
    else frame(socket, { op: 10, d: { heartbeat_interval: settings.heartbeatMs, _trace: [] } });
  }

  function leave(connection: Connection, code: number): void {
    const { session } = connection;
    if (session === undefined || session.socket !== connection.socket) return;
    delete session.socket;
    session.lostAt = world.clock.now();
    if (code === 1000 || code === 1001) sessions.end(session);
    world.changed();
  }

  function receive(connection: Connection, data: RawData): void {
    const { socket } = connection;
    const text = String(data);
    const payload = parse(text);
    if (payload === undefined || text.length > maxPayload) return socket.close(4002, "Error while decoding payload.");
    const now = Date.now();
    connection.sentAt = [...connection.sentAt.filter((at) => at > now - 60_000), now];
    if (connection.sentAt.length > commandsPerMinute) return socket.close(4008, "Rate limited.");
    const { op, d } = payload;
    if (op === 1) return beat(connection);
    if (op === 2 || op === 6) {
      if (connection.session !== undefined) return socket.close(4005, "Already authenticated.");
      if (!isFields(d)) return socket.close(4002, "Error while decoding payload.");
      return op === 2 ? identify(connection, d) : resume(connection, d);
    }
    if (op !== 3 && op !== 4 && op !== 8 && op !== 31) return socket.close(4001, "Unknown opcode.");
    if (connection.session === undefined) socket.close(4003, "Not authenticated.");
  }

  function beat(connection: Connection): void {
    connection.lastBeat = Date.now();
    if (!connection.session?.isSilent) frame(connection.socket, { op: 11 });
  }

  function refuseIdentify(connection: Connection, d: Record<string, unknown>, code: number, reason: string): void {
    attempts.push({ type: "identify", ...describe(d), isResumeUrl: connection.isResumeUrl, outcome: `closed ${code}` });
    connection.socket.close(code, reason);
    world.changed();
  }

  function identify(connection: Connection, d: Record<string, unknown>): void {
    const { socket } = connection;
    const [code, reason] = problemOf(world, settings, d) ?? [];
    if (code !== undefined && reason !== undefined) return refuseIdentify(connection, d, code, reason);
    const shard = shardField(d) ?? [0, 1];
    const intents = Number(d.intents);
    if (settings.sessionsLeft <= 0) {
      world.application.token = `void-${world.nextId()}`;
      for (const session of sessions.all()) sessions.end(session);
      for (const { socket: other } of connections) other.close(4004, "Authentication failed.");
      return;
    }
    settings.sessionsLeft -= 1;
    const key = shard[0] % settings.maxConcurrency;
    const last = identifiedAt.get(key) ?? Number.NEGATIVE_INFINITY;
    if (settings.enforcesConcurrency && world.clock.now() - last < 5000) {
      attempts.push({ type: "identify", shard, intents, isResumeUrl: connection.isResumeUrl, outcome: "too soon" });
      return frame(socket, { op: 9, d: false });
    }
    identifiedAt.set(key, world.clock.now());
    attempts.push({ type: "identify", shard, intents, isResumeUrl: connection.isResumeUrl, outcome: "ready" });
    connection.session = sessions.open(socket, shard, intents);
    greet(connection.session);
    world.changed();
  }

  function greet(session: Session): void {
    const botId = world.application.id;
    const guilds = [...world.guilds.values()]
      .filter((guild) => guild.members.has(botId))
      .filter((guild) => shardOf(guild.id, session.shard[1]) === session.shard[0]);
    sessions.send(session, "READY", {
      v: 10,
      user: { ...userPayload(userOf(world, botId)), verified: true, mfa_enabled: false, email: null },
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      session_type: "normal",
      resume_gateway_url: `${world.url.replace("http", "ws")}/resume`,
      shard: session.shard,
      application: { id: world.application.id, flags: applicationFlags(world) },
      private_channels: [],
      relationships: [],
      presences: [],
      user_settings: {},
      geo_ordered_rtc_regions: [],
      _trace: [],
    });
    if ((session.intents & GatewayIntentBits.Guilds) === 0) return;
    for (const guild of guilds) {
      if (guild.isUnavailable) continue;
      sessions.send(session, "GUILD_CREATE", guildCreatePayload(world, guild));
    }
  }

  function resume(connection: Connection, d: Record<string, unknown>): void {
    const { socket, isResumeUrl } = connection;
    const note = (outcome: string) => attempts.push({ type: "resume", isResumeUrl, outcome });
    if (d.token !== world.application.token) {
      note("closed 4004");
      return socket.close(4004, "Authentication failed.");
    }
    const session = sessions.find(String(d.session_id));
    if (session === undefined) {
      note("invalid session");
      return frame(socket, { op: 9, d: false });
    }
    const after = Number(d.seq);
    if (!Number.isInteger(after) || after > session.sequence || after < 0) {
      note("closed 4007");
      return socket.close(4007, "Invalid seq.");
    }
    note(`resumed after ${after}`);
    session.socket?.terminate();
    connection.session = session;
    session.socket = socket;
    session.isSilent = false;
    delete session.lostAt;
    sessions.replay(session, after);
    sessions.send(session, "RESUMED", { _trace: [] });
    world.changed();
  }

  const each = (act: (connection: Connection) => void) => {
    for (const connection of [...connections]) act(connection);
  };
  return {
    settings,
    sessions,
    attempts,
    connections: () => connections.size,
    cut: () => each(({ socket }) => socket.terminate()),
    close: (code, reason) => each(({ socket }) => socket.close(code, reason)),
    requestReconnect: () => each(({ socket }) => frame(socket, { op: 7, d: null })),
    invalidate: (isResumable) =>
      each(({ socket, session }) => {
        if (!isResumable && session !== undefined) sessions.end(session);
        frame(socket, { op: 9, d: isResumable });
      }),
    silence: () =>
      each(({ session }) => {
        if (session !== undefined) session.isSilent = true;
      }),
    refuse() {
      isOpen = false;
    },
    allow() {
      isOpen = true;
    },
    async stop() {
      each(({ socket }) => socket.terminate());
      await new Promise<void>((resolve) => sockets.close(() => resolve()));
    },
  };
}

function frame(socket: WebSocket, payload: object): void {
  socket.send(JSON.stringify({ t: null, s: null, ...payload }));
}

function parse(text: string): { op: unknown; d: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? { op: value.op, d: value.d } : undefined;
  } catch {
    return undefined;
  }
}

function shardField(d: Record<string, unknown>): [number, number] | undefined {
  const [id, count] = Array.isArray(d.shard) ? d.shard : [];
  return Number.isInteger(id) && Number.isInteger(count) ? [id, count] : undefined;
}

function describe(d: Record<string, unknown>): { shard?: [number, number]; intents: number } {
  const shard = shardField(d);
  return { intents: Number(d.intents), ...(shard === undefined ? {} : { shard }) };
}

/** Why an identify is refused: the close code and its words. */
function problemOf(world: World, settings: GatewaySettings, d: Record<string, unknown>): [number, string] | undefined {
  const intents = Number(d.intents);
  const [id, count] = shardField(d) ?? [0, 1];
  const { portal, token } = world.application;
  if (d.token !== token) return [4004, "Authentication failed."];
  if (count < 1 || id < 0 || id >= count) return [4010, "Invalid shard."];
  if (count < settings.requiredShards) return [4011, "Sharding is required."];
  if (!Number.isInteger(intents) || (intents & ~knownIntents) !== 0) return [4013, "Invalid intent(s)."];
  const names = Object.keys(privileged) as (keyof typeof privileged)[];
  const isDisallowed = names.some((name) => !portal[name] && (intents & privileged[name]) !== 0);
  return isDisallowed ? [4014, "Disallowed intent(s)."] : undefined;
}
