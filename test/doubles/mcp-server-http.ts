/**
 * An MCP server on a local address, in this process: streamable HTTP with sessions, or the older server-sent events. It can be
 * stopped and restarted on the same port, without its sessions.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createTestServer, type TestServerOptions } from "./mcp-server-tools.ts";

export interface HttpServerOptions extends TestServerOptions {
  kind?: "streamable" | "events";
  port?: number;
  /** What the header `authorization` must be; else 401. */
  authorization?: string;
  /** Answers each request itself, before the protocol. */
  instead?(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface HttpTestServer {
  url: string;
  port: number;
  /** The headers of all requests, newest last. */
  headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions = {}): Promise<HttpTestServer> {
  const headers: IncomingMessage["headers"][] = [];
  const answer = options.kind === "events" ? eventsServer(options) : streamableServer(options);
  const server = createServer((request, response) => {
    headers.push(request.headers);
    if (options.instead?.(request, response) === true) return;
    if (options.authorization !== undefined && request.headers.authorization !== options.authorization) {
      response.writeHead(401).end("who are you?");
      return;
    }
    answer(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const path = options.kind === "events" ? "/sse" : "/mcp";
  return { url: `http://127.0.0.1:${port}${path}`, port, headers, close: () => closed(server) };
}

function closed(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function streamableServer(options: TestServerOptions): Answer {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (typeof id === "string" && known === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}');
      return;
    }
    if (known !== undefined) return await known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await createTestServer(options).connect(transport as Parameters<ReturnType<typeof createTestServer>["connect"]>[0]);
    await transport.handleRequest(request, response);
  };
}

function eventsServer(options: TestServerOptions): Answer {
  const sessions = new Map<string, SSEServerTransport>();
  return async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "GET" && url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      sessions.set(transport.sessionId, transport);
      await createTestServer(options).connect(transport);
      return;
    }
    const session = sessions.get(url.searchParams.get("sessionId") ?? "");
    if (request.method === "POST" && session !== undefined) await session.handlePostMessage(request, response);
    else response.writeHead(404).end();
  };
}
