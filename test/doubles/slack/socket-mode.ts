/**
 * Socket Mode: sockets that the app opens with a ticket from `apps.connections.open`, envelopes out, acknowledgements in.
 *
 * Several sockets may be open; each envelope goes to one of them, in turn. A test can cut them without a close frame,
 * leave them silent (open, and deaf and dumb), or have Slack ask for a new one with a `disconnect` frame.
 * Rule: sockets-share-envelopes
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Attempt, Courier, Delivery, Outcome } from "./delivery.ts";
import type { SlackState } from "./state.ts";
import { isObject, type JsonObject } from "./wire.ts";

export type DisconnectReason = "warning" | "refresh_requested" | "link_disabled";

interface OpenSocket {
  id: number;
  socket: WebSocket;
  isSilent: boolean;
  /** Waits for its close after `disconnect`; gets no new envelopes. */
  isLeaving: boolean;
  unacknowledged: Map<string, (outcome: Outcome) => void>;
}

export interface Sockets {
  /** Open now, silent ones too. */
  count(): number;
  /** All that were ever opened. */
  opened(): number;
  /** Pings that came in, and pongs to Slack's own. */
  pings: { fromApp: number; pongsFromApp: number };
  /** Frames from the app that acknowledge no open envelope. */
  strange: string[];
  /** Terminates the connections without a close frame. */
  cut(): void;
  /** The connections stay open but silent in both directions. */
  silence(): void;
  /** Sends a `disconnect` frame to all sockets. Slack closes them after the grace period. */
  disconnect(reason: DisconnectReason, graceMs?: number): void;
  /** Sends a raw frame, for what Slack should never send. */
  sendRaw(text: string): void;
  /** Sends one ping frame on every socket. */
  ping(): void;
  /** While true, tickets are given out and the upgrade is refused. */
  refuse: boolean;
}

export interface SocketMode {
  controls: Sockets;
  ticketUrl(isDebug: boolean): string;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** False when there is no socket to send it on. */
  send(delivery: Delivery, attempt: Attempt, settle: (outcome: Outcome) => void): boolean;
  stop(): Promise<void>;
}

export interface SocketOptions {
  /** Slack pings each socket this often, in real time; 0 never. */
  pingIntervalMs: number;
  /** One more is told `too_many_websockets` and closed. */
  maximum: number;
}

export function createSocketMode(state: SlackState, options: SocketOptions, courier: () => Courier): SocketMode {
  const server = new WebSocketServer({ noServer: true, autoPong: false });
  const tickets = new Set<string>();
  let open: OpenSocket[] = [];
  let turn = 0;
  let opened = 0;
  const strange: string[] = [];
  const pings = { fromApp: 0, pongsFromApp: 0 };
  const live = () => open.filter((one) => !one.isSilent);

  const pinger =
    options.pingIntervalMs > 0 ? setInterval(() => controls.ping(), options.pingIntervalMs).unref() : undefined;

  function accept(socket: WebSocket): void {
    if (open.length >= options.maximum) {
      socket.send(
        JSON.stringify({ type: "disconnect", reason: "too_many_websockets", debug_info: { host: "applink" } }),
      );
      socket.close(1000);
      return;
    }
    opened += 1;
    const one: OpenSocket = { id: opened, socket, isSilent: false, isLeaving: false, unacknowledged: new Map() };
    open.push(one);
    socket.on("ping", (data: Buffer) => {
      if (one.isSilent) return;
      pings.fromApp += 1;
      socket.pong(data);
    });
    socket.on("pong", () => {
      pings.pongsFromApp += 1;
    });
    socket.on("message", (data: Buffer) => {
      if (!one.isSilent) hear(one, String(data));
    });
    socket.on("error", () => {});
    socket.on("close", () => leave(one));
    say(one, {
      type: "hello",
      num_connections: open.length,
      debug_info: { host: `applink-${one.id}`, build_number: 127, approximate_connection_time: 18_060 },
      connection_info: { app_id: state.app.id },
    });
    courier().reconnected();
    state.changed();
  }

  function leave(one: OpenSocket): void {
    open = open.filter((other) => other !== one);
    const lost = [...one.unacknowledged.values()];
    one.unacknowledged.clear();
    for (const settle of lost) settle({ type: "gone" });
    state.changed();
  }

  function hear(one: OpenSocket, text: string): void {
    const frame = parse(text);
    const id = isObject(frame) && typeof frame.envelope_id === "string" ? frame.envelope_id : undefined;
    const settle = id === undefined ? undefined : one.unacknowledged.get(id);
    if (id === undefined || settle === undefined) {
      strange.push(text);
      return;
    }
    one.unacknowledged.delete(id);
    const payload = isObject(frame) && isObject(frame.payload) ? frame.payload : {};
    settle({ type: "acknowledged", payload });
  }

  function say(one: OpenSocket, frame: JsonObject): void {
    if (!one.isSilent) one.socket.send(JSON.stringify(frame));
  }

  const controls: Sockets = {
    count: () => open.length,
    opened: () => opened,
    pings,
    strange,
    refuse: false,
    cut() {
      for (const one of [...open]) one.socket.terminate();
    },
    silence() {
      for (const one of open) {
        one.isSilent = true;
        // Nothing is read any more, not even a close frame.
        one.socket.pause();
      }
    },
    disconnect(reason, graceMs = 10_000) {
      for (const one of live()) {
        say(one, { type: "disconnect", reason, debug_info: { host: `applink-${one.id}` } });
        one.isLeaving = true;
        state.clock.after(graceMs, () => one.socket.close(1000));
      }
    },
    sendRaw(text) {
      for (const one of live()) one.socket.send(text);
    },
    ping() {
      for (const one of live()) one.socket.ping("Ping from applink");
    },
  };

  return {
    controls,
    ticketUrl(isDebug) {
      const ticket = randomUUID();
      tickets.add(ticket);
      const end = isDebug ? "&debug_reconnects=true" : "";
      return `${state.url.replace("http", "ws")}/link/?ticket=${ticket}&app_id=${state.app.id}${end}`;
    },
    upgrade(request, socket, head) {
      const ticket = new URL(request.url ?? "/", "http://slack").searchParams.get("ticket") ?? "";
      // A ticket is good for one connection.
      if (controls.refuse || !tickets.delete(ticket)) {
        socket.end("HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n");
        return;
      }
      server.handleUpgrade(request, socket, head, accept);
    },
    send(delivery, attempt, settle) {
      const able = open.filter((one) => !one.isLeaving);
      const one = able[turn++ % Math.max(1, able.length)];
      if (one === undefined) return false;
      one.unacknowledged.set(attempt.envelopeId, settle);
      say(one, envelope(delivery, attempt));
      return true;
    },
    async stop() {
      clearInterval(pinger);
      // Clients in the middle of a close handshake are let finish it.
      for (const one of open) one.socket.close(1001);
      const deadline = setTimeout(() => controls.cut(), 250);
      await Promise.all(open.map(({ socket }) => new Promise((resolve) => socket.once("close", resolve))));
      clearTimeout(deadline);
      server.close();
    },
  };
}

function envelope(delivery: Delivery, attempt: Attempt): JsonObject {
  const isEvent = delivery.kind === "events_api";
  return {
    envelope_id: attempt.envelopeId,
    payload: delivery.payload,
    type: delivery.kind,
    accepts_response_payload: !isEvent,
    ...(isEvent ? { retry_attempt: attempt.number, retry_reason: attempt.reason } : {}),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
