/** Rewrites each request on a new connection so that proxy and server parse it alike. Adds secrets after all checks. */
import {
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  request as sendRequest,
} from "node:http";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { OpenConnection } from "./connections.ts";
import { isApproved } from "./hosts.ts";
import { maxHandshakeMs, maxHeaderBytes } from "./limits.ts";
import type { ProxyContext } from "./proxy-context.ts";
import { badRequest, dialFailed, notApproved, type ProxyReply, sendReply } from "./replies.ts";
import {
  type RequestTarget,
  readTarget,
  requestHeaders,
  responseHeaders,
  type TunnelledHost,
} from "./request-target.ts";
import { findSecret, pairsOf, withSecret } from "./secrets.ts";
import { join } from "./tunnel.ts";

interface Outgoing {
  type: "outgoing";
  target: RequestTarget;
  connection: OpenConnection;
  socket: Duplex;
}

type Opening = Outgoing | { type: "refused"; reply: ProxyReply };

export async function forwardRequest(
  context: ProxyContext,
  request: IncomingMessage,
  response: ServerResponse,
  tunnelled: TunnelledHost | undefined,
): Promise<void> {
  const opened = await open(context, request, tunnelled);
  if (opened.type === "refused") return sendReply(response, opened.reply);
  const { target, connection, socket } = opened;
  const outgoing = send(context, request, opened, ["Connection", "close"]);
  if (outgoing === undefined) return sendReply(response, badRequest("The request can't be forwarded."));
  // The command waits for status 100 before sending the body. The server's response shows whether it accepted the body.
  if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
  let outcome: "failed" | "ended" = "failed";
  outgoing.on("response", (incoming) => {
    try {
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? "", responseHeaders(incoming));
    } catch {
      // Node refuses to write some status codes and reasons, such as 099.
      sendReply(response, dialFailed("failed", target.host, target.port));
      return void outgoing.destroy();
    }
    incoming.on("end", () => {
      outcome = "ended";
    });
    incoming.on("error", () => response.destroy());
    incoming.pipe(response);
  });
  outgoing.on("error", () => {
    if (response.headersSent) response.destroy();
    else sendReply(response, dialFailed("failed", target.host, target.port));
  });
  socket.once("close", () => {
    connection.end(outcome);
    // Read the rest of the body, which would otherwise block the connection.
    request.unpipe(outgoing);
    request.resume();
  });
  response.once("close", () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  response.sendDate = false;
  request.on("error", () => outgoing.destroy());
  request.pipe(outgoing);
  if (response.destroyed) outgoing.destroy();
}

export async function forwardUpgrade(
  context: ProxyContext,
  request: IncomingMessage,
  client: Duplex,
  reply: (reply: ProxyReply) => void,
  tunnelled: TunnelledHost | undefined,
): Promise<void> {
  const opened = await open(context, request, tunnelled);
  if (opened.type === "refused") return reply(opened.reply);
  const { target, connection, socket } = opened;
  const outgoing = send(context, request, opened, ["Connection", "Upgrade", "Upgrade", "websocket"]);
  if (outgoing === undefined) return reply(badRequest("The request can't be forwarded."));
  let hasBegun = false;
  const writeHead = (incoming: IncomingMessage, more: string[]) => {
    hasBegun = true;
    const headers = pairsOf([...responseHeaders(incoming), ...more]).map((pair) => pair.join(": "));
    const { statusCode = 502, statusMessage = STATUS_CODES[statusCode] ?? "" } = incoming;
    client.write(`${[`HTTP/1.1 ${statusCode} ${statusMessage}`, ...headers].join("\r\n")}\r\n\r\n`, "latin1");
  };
  outgoing.on("upgrade", (incoming, upgraded, head) => {
    writeHead(incoming, ["Connection", "Upgrade", "Upgrade", "websocket"]);
    if (head.length > 0) upgraded.unshift(head);
    join(client, upgraded as Socket, connection);
  });
  outgoing.on("response", (incoming) => {
    writeHead(incoming, ["Connection", "close"]);
    incoming.on("error", () => client.destroy());
    incoming.pipe(client);
  });
  outgoing.on("error", () => {
    if (hasBegun) client.destroy();
    else reply(dialFailed("failed", target.host, target.port));
  });
  socket.once("close", () => connection.end("ended"));
  client.once("close", () => outgoing.destroy());
  outgoing.end();
  if (client.destroyed) outgoing.destroy();
}

async function open(
  context: ProxyContext,
  request: IncomingMessage,
  tunnelled: TunnelledHost | undefined,
): Promise<Opening> {
  const reading = readTarget(request, tunnelled);
  if (reading.type === "refused") {
    const named = tunnelled ?? { host: request.url ?? "", port: 0 };
    context.records.begin(named.host, named.port).end("bad-request");
    return { type: "refused", reply: badRequest(reading.why) };
  }
  const { scheme, host, port } = reading.target;
  const connection = context.records.begin(host, port);
  if (!isApproved(context.hosts, host, port)) {
    connection.end("not-approved");
    return { type: "refused", reply: notApproved(host, port, context.hosts) };
  }
  // A server may echo a TRACE request, including the secret.
  if (request.method === "TRACE" && findSecret(context.secrets, scheme, host, port) !== undefined) {
    connection.end("bad-request");
    return { type: "refused", reply: badRequest("TRACE is not available for this host.", 405) };
  }
  return connect(context, reading.target, connection);
}

async function connect(context: ProxyContext, target: RequestTarget, connection: OpenConnection): Promise<Opening> {
  const { scheme, host, port } = target;
  const dialled = await context.dial(host, port, context.signal);
  if (dialled.type === "failed") {
    connection.end(dialled.outcome);
    return { type: "refused", reply: dialFailed(dialled.outcome, host, port) };
  }
  connection.watch(dialled.socket, dialled.address);
  if (scheme === "http") return { type: "outgoing", target, connection, socket: dialled.socket };
  const secure = await handshake(context, dialled.socket, host);
  if (secure !== undefined) return { type: "outgoing", target, connection, socket: secure };
  connection.end("certificate");
  return { type: "refused", reply: dialFailed("certificate", host, port) };
}

function handshake(context: ProxyContext, socket: Socket, host: string): Promise<Duplex | undefined> {
  return new Promise((resolve) => {
    const secure = connectTls({
      ...{ socket, host, secureContext: context.trust(), ALPNProtocols: ["http/1.1"] },
      ...(isIP(host) ? {} : { servername: host }),
    });
    const fail = () => {
      clearTimeout(timer);
      secure.destroy();
      socket.destroy();
      resolve(undefined);
    };
    const timer = setTimeout(fail, maxHandshakeMs);
    secure.on("error", () => {});
    secure.once("close", fail);
    secure.once("secureConnect", () => {
      clearTimeout(timer);
      secure.off("close", fail);
      secure.once("close", () => socket.destroy());
      resolve(secure);
    });
  });
}

function send(
  context: ProxyContext,
  request: IncomingMessage,
  { target, connection, socket }: Outgoing,
  more: readonly string[],
): ClientRequest | undefined {
  const { scheme, host, port, path } = target;
  const secret = findSecret(context.secrets, scheme, host, port);
  try {
    return sendRequest({
      createConnection: () => socket,
      ...{ method: request.method ?? "GET", path, maxHeaderSize: maxHeaderBytes, setHost: false },
      headers: [...withSecret(requestHeaders(request, target), secret), ...more],
    });
  } catch {
    connection.end("bad-request");
    socket.destroy();
    return undefined;
  }
}
