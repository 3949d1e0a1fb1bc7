/**
 * Gateway sessions: each numbers and keeps its events, so a resuming client gets what it missed.
 * Rule: sessions-keep-events
 */
import { randomUUID } from "node:crypto";
import { GatewayIntentBits, PermissionFlagsBits } from "discord.js";
import type { WebSocket } from "ws";
import { can } from "./permissions.ts";
import type { Dispatch, World } from "./world.ts";

export interface Session {
  id: string;
  shard: [id: number, count: number];
  intents: number;
  sequence: number;
  /** The last events that were sent. */
  sent: { s: number; frame: string }[];
  socket?: WebSocket;
  /** Nothing reaches the client any more, not even heartbeat acknowledgements. */
  isSilent: boolean;
  lostAt?: number;
}

export interface Sessions {
  all(): Session[];
  open(socket: WebSocket, shard: Session["shard"], intents: number): Session;
  /** A session that can resume after this event: not ended, not expired, and the sequence is known. */
  find(id: string, after: number): Session | undefined;
  /** What was missed, then RESUMED. */
  resume(session: Session, socket: WebSocket, after: number): void;
  end(session: Session): void;
  send(session: Session, type: string, data: unknown): void;
  publish(dispatch: Dispatch): void;
}

/** How long a session waits for its client to come back, and how many events it keeps for it. */
const patienceMs = 180_000;
const keptEvents = 5000;

export function createSessions(world: World): Sessions {
  const sessions = new Map<string, Session>();

  function send(session: Session, type: string, data: unknown): void {
    session.sequence += 1;
    const frame = JSON.stringify({ op: 0, t: type, s: session.sequence, d: data });
    session.sent.push({ s: session.sequence, frame });
    if (session.sent.length > keptEvents * 2) session.sent = session.sent.slice(-keptEvents);
    if (!session.isSilent) session.socket?.send(frame);
  }

  return {
    all: () => [...sessions.values()],
    open(socket, shard, intents) {
      const id = randomUUID().replaceAll("-", "");
      const session: Session = { id, shard, intents, sequence: 0, sent: [], socket, isSilent: false };
      sessions.set(session.id, session);
      return session;
    },
    find(id, after) {
      const session = sessions.get(id);
      if (session === undefined) return undefined;
      const isLate = session.lostAt !== undefined && world.clock.now() - session.lostAt > patienceMs;
      const isForgotten = after < (session.sent[0]?.s ?? 1) - 1;
      if (!isLate && !isForgotten) return session;
      sessions.delete(id);
      return undefined;
    },
    resume(session, socket, after) {
      session.socket = socket;
      session.isSilent = false;
      delete session.lostAt;
      for (const { s, frame } of session.sent) {
        if (s > after) socket.send(frame);
      }
      send(session, "RESUMED", { _trace: [] });
    },
    end: (session) => {
      sessions.delete(session.id);
    },
    send,
    publish(dispatch) {
      if (!isSeen(world, dispatch)) return;
      for (const session of sessions.values()) {
        if (!isFor(session, dispatch)) continue;
        const readsContent = (session.intents & GatewayIntentBits.MessageContent) !== 0;
        send(session, dispatch.type, dispatch.payload(readsContent, session.intents));
      }
    },
  };
}

/** `(guild_id >> 22) % count`; what belongs to no guild goes to shard 0. */
export function shardOf(guildId: string | undefined, count: number): number {
  return guildId === undefined ? 0 : Number((BigInt(guildId) >> 22n) % BigInt(count));
}

function isFor(session: Session, dispatch: Dispatch): boolean {
  if (dispatch.intents !== 0 && (session.intents & dispatch.intents) === 0) return false;
  return shardOf(dispatch.guildId, session.shard[1]) === session.shard[0];
}

/** The bot gets no events from channels it can't see or guilds it is not in. */
function isSeen(world: World, dispatch: Dispatch): boolean {
  const botId = world.application.id;
  const guild = dispatch.guildId === undefined ? undefined : world.guilds.get(dispatch.guildId);
  const isAway = guild !== undefined && (guild.isUnavailable || !guild.members.has(botId));
  if (isAway && dispatch.type !== "GUILD_DELETE") return false;
  const channel = dispatch.channelId === undefined ? undefined : world.channels.get(dispatch.channelId);
  return channel === undefined || can(world, botId, channel, PermissionFlagsBits.ViewChannel);
}
