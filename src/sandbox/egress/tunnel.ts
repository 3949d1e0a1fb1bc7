/**
 * Serves CONNECT. Only TLS that names the approved host passes unread, or is terminated here if the host has a secret. All else is
 * read as plain HTTP, request by request, because many hosts can share one address.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer, TLSSocket } from "node:tls";
import type { CertificateAuthority } from "./certificates.ts";
import { readOpening } from "./client-hello.ts";
import type { OpenConnection } from "./connections.ts";
import { isApproved, parseAuthority } from "./hosts.ts";
import { maxHandshakeMs } from "./limits.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { badRequest, dialFailed, notApproved, writeReply } from "./replies.ts";
import type { TunnelledHost } from "./request-target.ts";
import { findSecret } from "./secrets.ts";

const established = "HTTP/1.1 200 Connection established\r\n\r\n";
/** The TLS alert that clients understand (RFC 6066, section 3). */
const unrecognizedName = Buffer.of(0x15, 3, 3, 0, 2, 2, 112);

/** `serve` takes a connection with HTTP requests to the host. */
export async function connectTunnel(
  context: ProxyContext,
  request: IncomingMessage,
  client: Socket,
  serve: (socket: Socket, host: TunnelledHost) => void,
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
  const hasSecret = findSecret(context.secrets, "https", host, port) !== undefined;
  const dialled = hasSecret ? undefined : await context.dial(host, port, context.signal);
  if (dialled?.type === "failed") {
    connection.end(dialled.outcome);
    return writeReply(client, dialFailed(dialled.outcome, host, port));
  }
  client.write(established);
  const opening = await readOpening(client, host);
  if (opening !== "tls") dialled?.socket.destroy();
  if (opening === "other") {
    // Its requests get their own records and connections.
    connection.end("ended");
    return serve(client, { scheme: "http", ...target });
  }
  if (opening !== "tls") {
    connection.end(opening);
    if (opening === "wrong-name" || opening === "no-name") client.write(unrecognizedName);
    return void client.end(() => client.destroy());
  }
  if (dialled === undefined) {
    return terminate(context.authority, connection, client, host, (secure) =>
      serve(secure, { scheme: "https", ...target }),
    );
  }
  connection.watch(dialled.socket, dialled.address);
  join(client, dialled.socket, connection);
}

/** Connects both directions, each of which can end separately. If one side fails, closes the other. */
export function join(client: Duplex, server: Socket, connection: OpenConnection): void {
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
  client.pipe(server);
  if (client.destroyed) server.destroy();
}

async function terminate(
  authority: CertificateAuthority | undefined,
  connection: OpenConnection,
  client: Socket,
  host: string,
  serve: (socket: TLSSocket) => void,
): Promise<void> {
  const credentials = await authority?.credentialsFor(host);
  if (client.destroyed || credentials === undefined) return connection.end("closed");
  const server = createServer({ ...credentials, ALPNProtocols: ["http/1.1"], handshakeTimeout: maxHandshakeMs });
  server.on("tlsClientError", () => {
    connection.end("certificate");
    client.destroy();
  });
  server.on("secureConnection", (secure) => {
    // The requests that follow get their own records.
    connection.end("ended");
    secure.on("error", () => {});
    serve(secure);
  });
  client.once("close", () => connection.end("certificate"));
  server.emit("connection", client);
}
