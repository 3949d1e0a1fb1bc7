/** Serves CONNECT: an opaque tunnel to an approved host, or TLS terminated here if the host has a secret. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex, Transform } from "node:stream";
import { createServer, TLSSocket } from "node:tls";
import type { CertificateAuthority } from "./certificates.ts";
import { createNameGate, isSameHost } from "./client-hello.ts";
import type { OpenConnection } from "./connections.ts";
import { isApproved, parseAuthority } from "./hosts.ts";
import { maxHandshakeMs } from "./limits.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { badRequest, dialFailed, notApproved, writeReply } from "./replies.ts";
import type { TerminatedHost } from "./request-target.ts";
import { findSecret } from "./secrets.ts";

const established = "HTTP/1.1 200 Connection established\r\n\r\n";

export async function connectTunnel(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
  serve: (socket: TLSSocket, terminated: TerminatedHost) => void,
): Promise<void> {
  const written = request.url ?? "";
  const target = parseAuthority(written);
  const connection = context.records.begin(target?.host ?? written, target?.port ?? 0);
  if (target === undefined || client instanceof TLSSocket) {
    connection.end("bad-request");
    return writeReply(client, badRequest("CONNECT takes host:port, such as CONNECT github.com:443."));
  }
  const { host, port } = target;
  if (!isApproved(context.hosts, host, port)) {
    connection.end("not-approved");
    return writeReply(client, notApproved(host, port, context.hosts));
  }
  if (findSecret(context.secrets, "https", host, port) !== undefined) {
    return terminate(context.authority, connection, client, target, serve);
  }
  const dialled = await context.dial(host, port, context.signal);
  if (dialled.type === "failed") {
    connection.end(dialled.outcome);
    return writeReply(client, dialFailed(dialled.outcome, host, port));
  }
  connection.watch(dialled.socket, dialled.address);
  const gate = createNameGate(host, () => {
    connection.end("wrong-name");
    client.destroy();
  });
  client.write(established);
  join(client, dialled.socket, connection, gate);
}

/** Connects both directions, each of which can end separately. If one side fails, closes the other. */
export function join(client: Duplex, server: Socket, connection: OpenConnection, gate?: Transform): void {
  let failed = false;
  const cut = () => {
    failed = true;
    client.destroy();
    server.destroy();
  };
  client.on("error", cut);
  server.on("error", cut);
  client.once("close", () => server.destroy());
  server.once("close", () => {
    connection.end(failed ? "failed" : "ended");
    // The pipe has already ended the client, unless the server closed early.
    if (!client.writableEnded) client.destroy();
  });
  server.pipe(client);
  if (gate === undefined) client.pipe(server);
  else client.pipe(gate).pipe(server);
  if (client.destroyed) server.destroy();
}

async function terminate(
  authority: CertificateAuthority | undefined,
  connection: OpenConnection,
  client: Socket,
  target: TerminatedHost,
  serve: (socket: TLSSocket, terminated: TerminatedHost) => void,
): Promise<void> {
  const credentials = await authority?.credentialsFor(target.host);
  if (client.destroyed || credentials === undefined) return connection.end("closed");
  let outcome: "certificate" | "wrong-name" = "certificate";
  const server = createServer({
    ...credentials,
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: maxHandshakeMs,
    SNICallback(name, callback) {
      if (isSameHost(name, target.host)) return callback(null);
      outcome = "wrong-name";
      callback(new Error("another host"));
    },
  });
  server.on("tlsClientError", () => {
    connection.end(outcome);
    client.destroy();
  });
  server.on("secureConnection", (secure) => {
    // The requests that follow get their own records.
    connection.end("ended");
    secure.on("error", () => {});
    serve(secure, target);
  });
  client.once("close", () => connection.end(outcome));
  client.write(established);
  server.emit("connection", client);
}
