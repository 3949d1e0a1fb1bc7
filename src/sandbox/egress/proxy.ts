/** Runs the HTTP proxy of one session. Limits the number, size and duration of the command's requests. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket, Server as SocketServer } from "node:net";
import type { Duplex } from "node:stream";
import { forwardRequest, forwardUpgrade } from "./forward.ts";
import {
  byteCheckIntervalMs,
  headerCheckIntervalMs,
  maxConnections,
  maxHeaderBytes,
  maxHeaderMs,
  maxHeaders,
  maxIdleMs,
  maxKeepAliveMs,
  maxOpenConnections,
  maxSessionBytes,
} from "./limits.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { badRequest, type ProxyReply, writeReply } from "./replies.ts";
import type { TunnelledHost } from "./request-target.ts";
import { connectTunnel } from "./tunnel.ts";

export interface Proxy {
  listen(socket: SocketServer): void;
  close(): void;
}

/** Calls `onLimit` once, when the proxy closes because the command reached its limit of connections or bytes. */
export function createProxy(context: ProxyContext, onLimit: () => void): Proxy {
  const sockets = new Set<Socket>();
  const tunnelled = new WeakMap<Duplex, TunnelledHost>();
  const server = createHttpServer();
  let accepted = 0;

  server.on("connection", (socket: Socket) => {
    if (tunnelled.has(socket)) return;
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    if (sockets.size > maxOpenConnections) return void socket.destroy();
    if (accepted > maxConnections) stop();
  });
  server.on("request", (request, response) => {
    if (isOverLimit()) return;
    run(response, forwardRequest(context, request, response, tunnelled.get(request.socket)));
  });
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response); // forwardRequest writes the 100
  });
  server.on("connect", (request, stream, head) => {
    const socket = takeOver(stream, head);
    if (isOverLimit()) return;
    run(
      socket,
      connectTunnel(context, request, socket, (content, host) => {
        tunnelled.set(content, host);
        server.emit("connection", content);
      }),
    );
  });
  server.on("upgrade", (request, stream, head) => {
    const socket = takeOver(stream, head);
    if (isOverLimit()) return;
    const reply = (answer: ProxyReply) => writeReply(socket, answer);
    if (!isWebSocket(request)) return reply(badRequest("Only WebSocket upgrades are forwarded.", 501));
    run(socket, forwardUpgrade(context, request, socket, reply, tunnelled.get(socket)));
  });
  server.on("clientError", (_error, stream) => {
    const inside = tunnelled.get(stream);
    if (inside !== undefined) context.records.begin(inside.host, inside.port).end("bad-request");
    writeReply(
      stream as Socket,
      badRequest(
        "This is not valid HTTP, or its headers are too large or too slow. Only HTTP, and TLS that names its server, pass this proxy.",
      ),
    );
  });
  const bytes = setInterval(() => {
    if (context.records.totalBytes() > maxSessionBytes) stop();
  }, byteCheckIntervalMs);
  bytes.unref();

  function isOverLimit(): boolean {
    if (context.records.count() < maxConnections) return false;
    stop();
    return true;
  }

  function stop(): void {
    close();
    onLimit();
  }

  function close(): void {
    clearInterval(bytes);
    server.close();
    for (const socket of sockets) socket.destroy();
  }

  return {
    listen: (socket) => void server.listen(socket),
    close,
  };
}

function createHttpServer(): Server {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: maxHeaderMs,
    connectionsCheckingInterval: headerCheckIntervalMs,
    keepAliveTimeout: maxKeepAliveMs,
    // Uploads have no time limit while bytes arrive; see maxIdleMs.
    requestTimeout: 0,
    insecureHTTPParser: false,
    noDelay: true,
    shouldUpgradeCallback: isWebSocket,
  });
  server.maxHeadersCount = maxHeaders;
  server.setTimeout(maxIdleMs);
  return server;
}

/** Only WebSocket is supported. Servers may ignore other upgrades, such as h2c. */
function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

function takeOver(stream: Duplex, head: Buffer): Socket {
  const socket = stream as Socket;
  socket.on("error", () => {});
  socket.setTimeout(maxIdleMs, () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  return socket;
}

/** A bug in the proxy must close only the command's connection. */
function run(owner: { destroy(): unknown }, work: Promise<void>): void {
  work.catch(() => owner.destroy());
}
