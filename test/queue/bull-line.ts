/**
 * A line to a redis-server that can be cut, as a network's: connections break, and new ones break at once, until it is mended.
 * It goes on listening while it is cut, because clients that try a port where nobody listens may reach themselves.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Redis } from "ioredis";
import type { Connect } from "../../src/queue/bull-connections.ts";

export interface Line {
  connect: Connect;
  cut(): void;
  mend(): void;
  /** How many connections stand. */
  connections(): number;
  dispose(): Promise<void>;
}

export async function openLine(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  const clients = new Set<Redis>();
  let isCut = false;

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  }

  const server = createServer((near) => {
    keep(near);
    if (isCut) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    keep(far);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;

  return {
    connect(role) {
      // As src/storage/redis-clients.ts opens them, and quicker to come back.
      const waiting = role === "worker" ? { maxRetriesPerRequest: null } : { enableOfflineQueue: false, maxRetriesPerRequest: 1 };
      const client = new Redis({ host: "127.0.0.1", port: own, ...waiting, retryStrategy: () => (isCut ? 500 : 20) });
      clients.add(client);
      return client;
    },
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    connections: () => Math.floor(sockets.size / 2),
    async dispose() {
      for (const client of clients) client.disconnect();
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
