/**
 * Who may talk to the web server, checked on every request in this order:
 *
 *   1. the Host header names this machine and this port, else a foreign name was pointed here (DNS rebinding)
 *   2. the token: in the printed link (which sets the cookie and leaves the address bar), the cookie, or a bearer header
 *   3. what changes something comes from a page of this very origin; a bearer header without an Origin is a program
 *
 * Paths that a supervisor asks (health, metrics) need no token; they tell nothing of anybody's. Paths whose callers sign what
 * they send are left to those who check the signature.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";

export interface GuardOptions {
  token: string;
  /** Known only once the server listens. */
  port(): number;
  /** Answered without a token. */
  openPaths: readonly string[];
  /** Left to whoever is mounted there: a service calls them by a public name and signs what it sends. */
  signedPaths: readonly string[];
}

/** No script, style, picture or connection from anywhere but this server; nothing inline; never in a frame. */
export function createHeaders(): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
    referrerPolicy: "no-referrer",
    xFrameOptions: "DENY",
    // The page is served over plain HTTP on this machine.
    strictTransportSecurity: false,
    overwrite: false,
  });
}

export function createGuard(options: GuardOptions): MiddlewareHandler {
  const digest = digestOf(options.token);
  const isToken = (given: string) => timingSafeEqual(digestOf(given), digest);

  return async (context, next) => {
    if (options.signedPaths.includes(context.req.path)) return await next();
    const host = context.req.header("host") ?? "";
    if (!hostsOf(options.port()).includes(host.toLowerCase())) return context.text(wrongHost(options.port()), 403);
    if (options.openPaths.includes(context.req.path)) return await next();

    const inLink = context.req.query("token");
    if (inLink !== undefined && context.req.method === "GET") {
      return isToken(inLink) ? signIn(context, options.port(), inLink) : context.text(wrongToken, 403);
    }
    const bearer = bearerOf(context.req.header("authorization"));
    const given = bearer ?? getCookie(context, cookieName(options.port()));
    if (given === undefined) return context.text(missingToken, 401);
    if (!isToken(given)) return context.text(wrongToken, 403);

    const origin = context.req.header("origin");
    const isReading = context.req.method === "GET" || context.req.method === "HEAD";
    if (!isReading && !isOwnOrigin(origin, host, bearer !== undefined)) return context.text(wrongOrigin, 403);
    await next();
  };
}

const whereTheLinkIs =
  "Open the link that Remora printed when it started (it ends in ?token=…), or send the token as `Authorization: Bearer …`.";
const missingToken = `This page needs a token. ${whereTheLinkIs}\n`;
const wrongToken = `That token is not the right one, perhaps from an earlier data folder. ${whereTheLinkIs}\n`;
const wrongOrigin = "Refused: this request comes from another site's page. Use Remora's own page.\n";

function wrongHost(port: number): string {
  return `Refused: this server answers only as ${hostsOf(port).join(", ")}. Open it by one of these names.\n`;
}

function hostsOf(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

/** A browser names the origin of everything that is not a GET; only a program may leave it out. */
function isOwnOrigin(origin: string | undefined, host: string, isProgram: boolean): boolean {
  return origin === undefined ? isProgram : origin === `http://${host}`;
}

/** The token leaves the address bar (and so the history and screenshots) at once. */
function signIn(context: Context, port: number, token: string): Response {
  setCookie(context, cookieName(port), token, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    maxAge: 365 * 24 * 60 * 60,
  });
  const url = new URL(context.req.url);
  url.searchParams.delete("token");
  return context.redirect(url.pathname.replace(/^\/+/, "/") + url.search, 303);
}

/** Cookies do not know ports, so the port is in the name: two Remoras on one machine keep theirs apart. */
function cookieName(port: number): string {
  return `remora_${port}`;
}

function bearerOf(header: string | undefined): string | undefined {
  return header?.match(/^Bearer (\S+)$/i)?.[1];
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
