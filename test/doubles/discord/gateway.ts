/**
 * Gateway v10 over WebSocket: hello, heartbeats, identify, resume, and close codes for client errors.
 *
 * A session outlives its connection: after a broken connection, or a close with any code but 1000 and 1001, the client can
 * resume it and gets missed events. Only REST has what happens without a session.
 * Rules: gateway-commands, sessions-resume
 */
import type { IncomingMessage, Server } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Fields } from "./fields.ts";
import { frame, parse, refuse } from "./gateway-frames.ts";
import { greet, readIdentify, sendMembers } from "./gateway-greeting.ts";
import { createSessions, type Session } from "./sessions.ts";
import type { World } from "./world.ts";

export interface GatewaySettings {
  heartbeatMs: number;
  /** Identifies in five seconds, one for each remainder of the shard id by it. */
  maxConcurrency: number;
  /** Off, so that tests may start a client again at once; on: a second identify within five seconds gets op 9. */
  enforcesConcurrency: boolean;
  /** Identifies left today; at 0, every session ends and the token is invalid. */
  sessionsLeft: number;
  recommendedShards: number;
  /** Fewer shards than this are refused with 4011. */
  requiredShards: number;
}

/** An identify or resume with its result: `ready`, `resumed after 12`, `closed 4014`, `invalid session`. */
export interface GatewayAttempt {
  type: "identify" | "resume";
  shard?: [id: number, count: number];
  intents?: number;
  /** Whether the client came by the URL that READY names for resuming. */
  isResumeUrl: boolean;
  outcome: string;
}

export interface Gateway {
  settings: GatewaySettings;
  /** Oldest first. */
  attempts: GatewayAttempt[];
  /** Sessions whose client is connected now. */
  connected(): { shard: [id: number, count: number]; intents: number }[];
  /** The events of this type and id that sessions still keep, by shard. */
  sent(type: string, id: string): { shard: number; sequence: number }[];
  /** The TCP connections break without a close frame. */
  cut(): void;
  close(code: number, reason?: string): void;
  /** Op 7: asks the client to reconnect and resume. */
  requestReconnect(): void;
  /** Op 9. */
  invalidate(isResumable: boolean): void;
  /** Drops all sessions: a resuming client gets op 9 and must identify. */
  forgetSessions(): void;
  /** Repeats the last event of this type and id to every connected session. */
  repeat(type: string, id: string): void;
  /** Sends this event unchecked to every connected session. */
  send(type: string, data: unknown): void;
  /** Connections stay open but silent. */
  silence(): void;
  /** Nobody gets in until `allow`. */
  refuse(): void;
  allow(): void;
  stop(): Promise<void>;
}

interface Connection {
  socket: WebSocket;
  session?: Session;
  isResumeUrl: boolean;
  sentAt: number[];
  lastBeat: number;
}

const commandsPerMinute = 120;
const maxPayload = 4096;
const identifyWindowMs = 5000;
/** Milliseconds, besides two intervals, after which a client without heartbeats is dropped. */
const tolerance = 1000;

export function createGateway(world: World, server: Server, settings: GatewaySettings): Gateway {
  const sessions = createSessions(world);
  world.publish = (dispatch) => {
    sessions.publish(dispatch);
    world.changed();
  };
  const sockets = new WebSocketServer({ noServer: true });
  const connections = new Set<Connection>();
  const attempts: GatewayAttempt[] = [];
  const identifiedAt = new Map<number, number>();
  let isOpen = true;

  server.on("upgrade", (request, socket, head) => {
    if (isOpen) sockets.handleUpgrade(request, socket, head, (accepted) => welcome(accepted, request));
    else socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n");
  });

  function welcome(socket: WebSocket, request: IncomingMessage): void {
    const url = new URL(request.url ?? "/", world.url);
    const isResumeUrl = url.pathname.startsWith("/resume");
    const connection: Connection = { socket, isResumeUrl, sentAt: [], lastBeat: Date.now() };
    connections.add(connection);
    const watch = setInterval(() => {
      if (Date.now() - connection.lastBeat > settings.heartbeatMs * 2 + tolerance)
        refuse(socket, 4009, "Session timed out.");
    }, settings.heartbeatMs);
    watch.unref();
    socket.on("message", (data) => receive(connection, data));
    socket.on("error", () => socket.terminate());
    socket.on("close", (code) => {
      clearInterval(watch);
      connections.delete(connection);
      leave(connection, code);
    });
    if (url.searchParams.get("v") !== "10") refuse(socket, 4012, "Invalid API version.");
    else if (url.searchParams.get("encoding") !== "json") refuse(socket, 4002, "This double speaks JSON only.");
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
    const { socket, session } = connection;
    const text = String(data);
    const payload = parse(text);
    const now = Date.now();
    connection.sentAt = [...connection.sentAt.filter((at) => at > now - 60_000), now];
    if (payload === undefined || text.length > maxPayload) refuse(socket, 4002, "Error while decoding payload.");
    else if (connection.sentAt.length > commandsPerMinute) refuse(socket, 4008, "Rate limited.");
    else if (payload.op === 1) beat(connection);
    else if (payload.op === 2 || payload.op === 6) authenticate(connection, payload.op, payload.d);
    else if (![3, 4, 8, 31].includes(payload.op)) refuse(socket, 4001, "Unknown opcode.");
    else if (session === undefined) refuse(socket, 4003, "Not authenticated.");
    else if (payload.op === 8) sendMembers(world, sessions, session, payload.d);
  }

  function beat(connection: Connection): void {
    connection.lastBeat = Date.now();
    if (!connection.session?.isSilent) frame(connection.socket, { op: 11 });
  }

  function authenticate(connection: Connection, op: 2 | 6, d: Fields): void {
    if (connection.session !== undefined) refuse(connection.socket, 4005, "Already authenticated.");
    else if (op === 2) identify(connection, d);
    else resume(connection, d);
    world.changed();
  }

  function identify(connection: Connection, d: Fields): void {
    const { socket, isResumeUrl } = connection;
    const asked = readIdentify(world, settings, d);
    const { shard, intents } = asked;
    const note = (outcome: string) => attempts.push({ type: "identify", shard, intents, isResumeUrl, outcome });
    if (!asked.isAllowed) {
      note(`closed ${asked.code}`);
      refuse(socket, asked.code, asked.reason);
      return;
    }
    if (settings.sessionsLeft <= 0) {
      note("no sessions left");
      voidToken();
      return;
    }
    settings.sessionsLeft -= 1;
    const key = shard[0] % settings.maxConcurrency;
    const since = world.clock.now() - (identifiedAt.get(key) ?? Number.NEGATIVE_INFINITY);
    if (settings.enforcesConcurrency && since < identifyWindowMs) {
      note("too soon");
      frame(socket, { op: 9, d: false });
      return;
    }
    identifiedAt.set(key, world.clock.now());
    note("ready");
    connection.session = sessions.open(socket, shard, intents);
    greet(world, sessions, connection.session);
  }

  /** More than a thousand identifies a day: Discord ends everything and voids the token. */
  function voidToken(): void {
    world.application.token = `void-${world.nextId()}`;
    for (const session of sessions.all()) sessions.end(session);
    each(({ socket }) => refuse(socket, 4004, "Authentication failed."));
  }

  function resume(connection: Connection, d: Fields): void {
    const { socket, isResumeUrl } = connection;
    const after = Number(d.seq);
    const session = sessions.find(String(d.session_id), after);
    const of = session === undefined ? {} : { shard: session.shard };
    const note = (outcome: string) => attempts.push({ type: "resume", ...of, isResumeUrl, outcome });
    if (d.token !== world.application.token) {
      note("closed 4004");
      refuse(socket, 4004, "Authentication failed.");
      return;
    }
    if (session === undefined) {
      note("invalid session");
      frame(socket, { op: 9, d: false });
      return;
    }
    if (!Number.isInteger(after) || after > session.sequence || after < 0) {
      note("closed 4007");
      refuse(socket, 4007, "Invalid seq.");
      return;
    }
    note(`resumed after ${after}`);
    session.socket?.terminate();
    connection.session = session;
    sessions.resume(session, socket, after);
  }

  function each(act: (connection: Connection) => void): void {
    for (const connection of [...connections]) act(connection);
  }

  return {
    settings,
    attempts,
    connected: () =>
      sessions
        .all()
        .filter(({ socket }) => socket !== undefined)
        .map(({ shard, intents }) => ({ shard, intents })),
    sent: (type, id) =>
      sessions.all().flatMap(({ shard, sent }) =>
        sent
          .map(({ frame: text }) => JSON.parse(text) as { t: string; s: number; d: { id?: string } })
          .filter(({ t, d }) => t === type && d.id === id)
          .map(({ s }) => ({ shard: shard[0], sequence: s })),
      ),
    cut: () =>
      each((connection) => {
        leave(connection, 1006);
        connection.socket.terminate();
      }),
    close: (code, reason) => each(({ socket }) => socket.close(code, reason)),
    requestReconnect: () => each(({ socket }) => frame(socket, { op: 7, d: null })),
    invalidate: (isResumable) =>
      each(({ socket, session }) => {
        if (!isResumable && session !== undefined) sessions.end(session);
        frame(socket, { op: 9, d: isResumable });
      }),
    forgetSessions() {
      for (const session of sessions.all()) sessions.end(session);
    },
    repeat: (type, id) =>
      each(({ session }) => {
        const events = session?.sent.map(({ frame: sent }) => JSON.parse(sent) as { t: string; d: { id?: string } });
        const event = events?.findLast(({ t, d }) => t === type && d.id === id);
        if (session !== undefined && event !== undefined) sessions.send(session, type, event.d);
      }),
    send: (type, data) =>
      each(({ session }) => {
        if (session !== undefined) sessions.send(session, type, data);
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
