/**
 * The one web server of the process: health, metrics, and whatever is mounted on `app` (the local page, the dashboard).
 *
 *   createWebServer   an app behind the security headers and the guard, with the paths that a supervisor asks
 *   start             listens, and says the port it got
 *   close             lets requests under way end, then cuts what stays open (event streams)
 *
 * It is bound to this machine alone; who may use it is guard.ts.
 */
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createGuard, createHeaders } from "./guard.ts";
import type { Metrics } from "./metrics.ts";

export interface WebServerOptions {
  host: string;
  /** 0: any free one. */
  port: number;
  /** What the printed link, the cookie and the bearer header must carry. */
  token: string;
  /** `isReady` false is answered 503 on `/readyz`, with the detail. */
  readiness(): { isReady: boolean; detail: string };
  metrics: Metrics;
  log: Log;
}

export interface WebServer {
  app: Hono;
  /** Rejects with code `web.port-in-use` when another process listens there. */
  start(): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

/** For supervisors. */
const openPaths = ["/healthz", "/readyz", "/metrics"];
/** What comes from elsewhere with a signature of its own, which is checked there. */
const signedPaths = ["/slack/events"];
/** How long requests under way may take when the server closes. */
const closeGraceMs = 500;

export function createWebServer(options: WebServerOptions): WebServer {
  const { readiness, metrics, log } = options;
  const app = new Hono();
  let port = options.port;

  app.use(createHeaders());
  app.use(createGuard({ token: options.token, port: () => port, openPaths, signedPaths }));
  app.get("/healthz", (context) => context.text("ok\n"));
  app.get("/readyz", (context) => {
    const { isReady, detail } = readiness();
    return context.text(`${detail}\n`, isReady ? 200 : 503);
  });
  app.get("/metrics", async (context) =>
    context.body(await metrics.text(), 200, { "content-type": metrics.contentType }),
  );
  app.notFound((context) => context.text("There is nothing at this address.\n", 404));
  app.onError((thrown, context) => {
    // A refusal with a status of its own, such as a body over its limit.
    if (thrown instanceof HTTPException) return thrown.getResponse();
    log.error({ path: context.req.path, error: messageOf(thrown), stack: thrown.stack ?? "" }, "a web request failed");
    return context.json({ error: "Something went wrong inside Remora; its log has the details." }, 500);
  });

  const server = createServer(getRequestListener(app.fetch));

  return {
    app,
    async start() {
      port = await listen(server, options);
      return { url: `http://${options.host}:${port}`, port };
    },
    async close() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), closeGraceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function listen(server: Server, { host, port }: WebServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (thrown) => reject(refusalOf(thrown, host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function refusalOf(thrown: Error, host: string, port: number): RemoraError {
  const place = `web ${host}:${port}`;
  if (codeOf(thrown) !== "EADDRINUSE") {
    return new RemoraError({
      code: "web.cannot-listen",
      place,
      message: `the web server can't listen there (${messageOf(thrown)}); set REMORA_PORT to another port above 1023`,
      cause: thrown,
    });
  }
  return new RemoraError({
    code: "web.port-in-use",
    place,
    message: `port ${port} is taken by another process; stop that one, or start with another port: REMORA_PORT=${port + 1}`,
    cause: thrown,
  });
}
