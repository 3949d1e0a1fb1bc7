/**
 * Node's HTTP server, with limits for clients that are slow or many. Its own limits on bodies are too wide for strangers
 * (lib/read-body.ts), because a person's upload may take minutes.
 *
 * A connection that serves no request is idle: it waits for a request's head, for the rest of one that was answered, or for the
 * next one. If too many are idle, the network with the most loses its oldest. So connections that say nothing shut nobody out.
 *
 * A connection whose client takes next to nothing of what waits for it ends, so that a stalled download or stream, or a client
 * that has vanished, does not keep its memory and its place.
 */
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { createEvictingPool, type PoolMember } from "../lib/evicting-pool.ts";
import { addressBlock } from "./client.ts";

/** From the beginning of the connection, or of the request. */
const headersTimeoutMs = 10_000;
const checkEveryMs = 2_000;
const maxIdleConnections = 512;
/** With those that serve requests, such as event streams. More are refused, so that files can still be opened. */
const maxConnections = 2_048;

/** Unanswered on one connection. Browsers and proxies wait for each answer; Node would take any number at once. */
const maxPipelined = 64;

/** Of an answer: a client takes this much in this time, or all there is. */
const minTakenBytes = 16 * 1024;
const maxStallMs = 30_000;
const stallCheckMs = 5_000;

export function createLimitedServer(listener: RequestListener): Server {
  const times = { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: checkEveryMs };
  const server = createServer(times, listener);
  server.maxConnections = maxConnections;
  const pool = createEvictingPool({ maxMembers: maxIdleConnections });
  const serving = new WeakMap<Socket, number>();
  const idle = new WeakMap<Socket, PoolMember>();

  function change(socket: Socket, by: number): void {
    const requests = (serving.get(socket) ?? 0) + by;
    serving.set(socket, requests);
    idle.get(socket)?.leave();
    if (requests === 0 && !socket.destroyed)
      idle.set(
        socket,
        pool.enter(addressBlock(socket.remoteAddress), () => socket.destroy()),
      );
  }

  const stalls = new Map<Socket, { taken: number; since: number }>();
  const watch = setInterval(() => {
    for (const [socket, { taken, since }] of stalls) {
      const now = performance.now();
      const takenNow = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || takenNow - taken >= minTakenBytes)
        stalls.set(socket, { taken: takenNow, since: now });
      else if (now - since >= maxStallMs) socket.destroy();
    }
  }, stallCheckMs).unref();
  server.once("close", () => clearInterval(watch));

  server.on("connection", (socket) => {
    stalls.set(socket, { taken: 0, since: performance.now() });
    socket.once("close", () => stalls.delete(socket));
    change(socket, 0);
    socket.once("close", () => idle.get(socket)?.leave());
  });
  server.on("request", ({ socket }, response) => {
    change(socket, 1);
    if ((serving.get(socket) ?? 0) > maxPipelined) socket.destroy();
    response.once("close", () => change(socket, -1));
  });
  return server;
}
