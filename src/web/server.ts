/**
 * The process's only web server: health, metrics, and what is mounted on `app` (the local page, the dashboard).
 * `close` lets running requests finish, then closes open connections such as event streams.
 */
import type { Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createReadBody, type ReadBody } from "../lib/read-body.ts";
import type { Accounts } from "./accounts/accounts.ts";
import { type Cookies, cookiesFor } from "./accounts/cookies.ts";
import { addressBlock, createReadClient } from "./client.ts";
import { createGuard, createHeaders } from "./guard.ts";
import { createLimitedServer } from "./limited-server.ts";
import { type Metrics, metricsType } from "./metrics.ts";
import { createPlaceOf, type Place } from "./place.ts";

export interface WebServerOptions {
  host: string;
  /** 0 means any free port. */
  port: number;
  token: string;
  /** Without a slash at the end. Null if the server is reached at this machine only. */
  publicUrl?: string | null;
  /** Addresses and networks whose X-Forwarded headers are believed. */
  trustedProxies?: readonly string[];
  /** If not ready, `/readyz` answers 503 with the detail. */
  readiness(): { isReady: boolean; detail: string };
  metrics: Metrics;
  log: Log;
}

export interface WebServer {
  app: Hono;
  /** From now on, people can sign in. Call it before `start`. */
  admit(accounts: Accounts): void;
  placeOf(context: Context): Place;
  /** For every path that the guard leaves open to strangers. */
  readBody: ReadBody;
  cookiesOf(context: Context): Cookies;
  /** Rejects with code `web.port-in-use` if another process uses the port. */
  start(): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
}

/** At this machine, these paths need no token, because supervisors have none. */
const openPaths = ["/readyz", "/metrics"];
/** The handlers of these paths check signatures. */
const signedPaths = ["/slack/events"];
const closeGraceMs = 500;

export function createWebServer(options: WebServerOptions): WebServer {
  const { readiness, metrics, log } = options;
  const app = new Hono();
  let port = options.port;

  app.use(createHeaders());
  let accounts: Accounts | undefined;
  const { publicUrl = null, trustedProxies = [] } = options;
  const placeOf = createPlaceOf({ publicUrl, trustedProxies, port: () => port });
  const readClient = createReadClient(trustedProxies);
  const readBody = createReadBody({ ownerOf: (context) => addressBlock(readClient(context).address) });
  const guard = { token: options.token, port: () => port, placeOf, accounts: () => accounts, openPaths, signedPaths };
  app.use(createGuard(guard));
  app.get("/healthz", (context) => context.text("ok\n"));
  app.get("/readyz", (context) => {
    const { isReady, detail } = readiness();
    return context.text(`${detail}\n`, isReady ? 200 : 503);
  });
  app.get("/metrics", async (context) => context.body(await metrics.text(), 200, { "content-type": metricsType }));
  app.notFound((context) => context.text("There is nothing at this address.\n", 404));
  app.onError((thrown, context) => {
    // A refusal that has a status, such as a body over its limit.
    if (thrown instanceof HTTPException) return thrown.getResponse();
    log.error({ path: context.req.path, error: messageOf(thrown), stack: thrown.stack ?? "" }, "a web request failed");
    return context.json({ error: "Something went wrong inside Remora. The log has the details." }, 500);
  });

  const server = createLimitedServer(getRequestListener(app.fetch));

  return {
    ...{ app, placeOf, readBody },
    admit(admitted) {
      accounts = admitted;
    },
    cookiesOf: (context) => cookiesFor(placeOf(context).client.isHttps, port),
    async start() {
      port = await listen(server, options);
      // The only names that the guard knows.
      return { url: `http://${options.host === "::1" ? "[::1]" : "127.0.0.1"}:${port}`, port };
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
    server.once("error", (thrown) => reject(listenError(thrown, host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function listenError(thrown: Error, host: string, port: number): RemoraError {
  const place = `web ${host}:${port}`;
  if (codeOf(thrown) !== "EADDRINUSE") {
    return new RemoraError({
      code: "web.cannot-listen",
      place,
      message: `the web server can't listen on this address (${messageOf(thrown)}); set REMORA_PORT to another port above 1023`,
      cause: thrown,
    });
  }
  return new RemoraError({
    code: "web.port-in-use",
    place,
    message: `port ${port} is taken by another process; stop it, or use another port: REMORA_PORT=${port + 1}`,
    cause: thrown,
  });
}
