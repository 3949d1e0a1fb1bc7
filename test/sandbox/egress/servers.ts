/** Servers for tests, on this machine's loopback. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Socket,
  type Server as SocketServer,
} from "node:net";
import { type CertificateAuthority, createAuthority } from "../../../src/sandbox/egress/certificates.ts";

export interface Listening<T> {
  server: T;
  port: number;
  close(): void;
}

export async function listening<T extends SocketServer>(server: T, host = "127.0.0.1"): Promise<Listening<T>> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export function httpServer(answer: RequestListener): Promise<Listening<Server>> {
  return listening(createServer(answer));
}

export function socketServer(serve: (socket: Socket) => void): Promise<Listening<SocketServer>> {
  return listening(createSocketServer({ allowHalfOpen: true }, serve));
}

/** A TLS server with its own authority and a certificate for the given names. */
export async function tlsServer(
  host: string,
  answer: RequestListener,
): Promise<Listening<Server> & { authority: CertificateAuthority }> {
  const authority = await createAuthority();
  const server = createTlsServer({ ...(await authority.credentialsFor(host)) }, answer);
  return { ...(await listening(server as unknown as Server)), authority };
}
