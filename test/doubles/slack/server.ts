/**
 * The double's HTTP server: Web API calls, uploads and downloads of files, response URLs, and the sockets' upgrade.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { parse as parseForm } from "node:querystring";
import type { Duplex } from "node:stream";
import type { Caller, Failure, LoggedCall } from "./api-call.ts";
import type { SlackState } from "./state.ts";
import { isObject, type JsonObject } from "./wire.ts";

export interface Page {
  status: number;
  headers?: Record<string, string>;
  body: string | Buffer;
}

export interface Routes {
  caller: Caller;
  /** Takes the next failure for the method. */
  takeFailure(method: string): Failure | undefined;
  log: LoggedCall[];
  upload(path: string, request: IncomingMessage, body: Buffer): Promise<Page>;
  download(path: string, authorization: string | undefined): Page;
  respond(path: string, body: string): Page;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface SlackServer {
  port: number;
  stop(): Promise<void>;
}

export async function startServer(state: SlackState, routes: Routes): Promise<SlackServer> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    serve(state, routes, request, response).catch((error: unknown) => {
      // The client has gone in the middle of its request.
      if (request.destroyed && !request.complete) return;
      // A fault of the double itself: loud, so that it is never taken for an answer of Slack.
      console.error("slack double:", error);
      response.writeHead(500).end(String(error));
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => routes.upgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(
  state: SlackState,
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://slack");
  if (pathname.startsWith("/api/")) {
    const query = Object.fromEntries(searchParams);
    await serveCall(state, routes, pathname.slice("/api/".length), query, request, body, response);
    return;
  }
  await servePage(state, routes, pathname, request, body, response);
}

/** What is no method fails by these names: `upload`, `download`, `response_url`. */
function pageName(path: string): string {
  if (path.startsWith("/upload/")) return "upload";
  return path.startsWith("/response/") ? "response_url" : "download";
}

async function servePage(
  state: SlackState,
  routes: Routes,
  path: string,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const failure = routes.takeFailure(pageName(path));
  if (failure?.type === "delay") await new Promise<void>((resolve) => state.clock.after(failure.ms, resolve));
  const isCut = failure?.type === "cut";
  const refusal = given(failure);
  const page = refusal ?? (isCut && failure.after !== true ? undefined : await pageOf(routes, path, request, body));
  if (isCut || page === undefined) {
    request.socket.destroy();
  } else {
    const { body: content } = page;
    const text = typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content);
    const headers = { "content-type": "text/plain; charset=utf-8", ...page.headers };
    if (failure?.type === "part") sendPart(response, page.status, headers, Buffer.from(text), failure);
    else response.writeHead(page.status, headers).end(text);
  }
  state.changed();
}

function sendPart(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  content: Buffer,
  { bytes, end }: Extract<Failure, { type: "part" }>,
): void {
  response.writeHead(status, { ...headers, "content-length": String(content.length) });
  response.write(content.subarray(0, bytes), () => {
    if (end === "cut") response.destroy();
  });
}

async function pageOf(routes: Routes, path: string, request: IncomingMessage, body: Buffer): Promise<Page> {
  if (path.startsWith("/upload/") && request.method === "POST") return await routes.upload(path, request, body);
  if (path.startsWith("/files-pri/")) return routes.download(path, request.headers.authorization);
  if (path.startsWith("/response/") && request.method === "POST") return routes.respond(path, body.toString());
  return { status: 404, body: "not found" };
}

async function serveCall(
  state: SlackState,
  routes: Routes,
  method: string,
  query: JsonObject,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const contentType = request.headers["content-type"] ?? "";
  const values = readBody(contentType, body.toString());
  const args: JsonObject = { ...query, ...(isObject(values) ? values : {}) };
  const bearer = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  const token = bearer ?? (typeof args.token === "string" ? args.token : undefined);
  delete args.token;
  const logged: LoggedCall = { method, args: readable(args), token, contentType, at: state.clock.now() };
  routes.log.push(logged);
  state.changed();

  const failure = routes.takeFailure(method);
  if (failure?.type === "delay") await new Promise<void>((resolve) => state.clock.after(failure.ms, resolve));
  if (failure?.type === "cut" && failure.after !== true) {
    request.socket.destroy();
    return;
  }
  const answer = given(failure) ?? (values === undefined ? notJson : await routes.caller.handle(method, args, token));
  if (failure?.type === "cut") {
    request.socket.destroy();
    return;
  }
  logged.status = answer.status;
  logged.answer = typeof answer.body === "string" ? { body: answer.body } : answer.body;
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
  response.writeHead(answer.status, { "content-type": "application/json; charset=utf-8", ...answer.headers }).end(text);
  state.changed();
}

interface Written {
  status: number;
  headers: Record<string, string>;
  body: JsonObject | string;
}

const notJson: Written = { status: 200, headers: {}, body: { ok: false, error: "invalid_json" } };

function given(failure: Failure | undefined): Written | undefined {
  switch (failure?.type) {
    case "error":
      return { status: 200, headers: {}, body: { ok: false, error: failure.error, ...failure.body } };
    case "http":
      return { status: failure.status, headers: failure.headers ?? {}, body: failure.body ?? "" };
    case "rate-limit": {
      const headers = { "retry-after": String(failure.retryAfterSeconds) };
      return { status: 429, headers, body: { ok: false, error: "ratelimited" } };
    }
    default:
      return undefined;
  }
}

/** Undefined for a body that says it is JSON and is none. */
function readBody(contentType: string, text: string): unknown {
  if (!contentType.includes("application/json")) return { ...parseForm(text) };
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const structured = ["attachments", "blocks", "chunks", "files", "loading_messages", "metadata", "prompts", "view"];

function readable(args: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      if (!structured.includes(name) || typeof value !== "string") return [name, value];
      try {
        return [name, JSON.parse(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}
