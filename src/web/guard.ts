/**
 * Guards the web server. Checks every request in this order:
 *
 *   1. the Host header must name this machine and port; anything else may be DNS rebinding
 *   2. the token must be in the printed link (which sets the cookie and redirects), the cookie, or a bearer header
 *   3. a request that changes something must come from this origin, or have a bearer header and no Origin
 *
 * Health and metrics need no token, because they reveal nothing personal. Handlers of signed paths check signatures.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";
import { refuse } from "./visitor-page.ts";

export interface GuardOptions {
  token: string;
  /** The port is known only once the server listens. */
  port(): number;
  openPaths: readonly string[];
  /** Services sign requests to these paths, and the handlers must check the signatures. */
  signedPaths: readonly string[];
}

/** Allows content and connections only from this server, nothing inline, and no frames. */
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
    // Off, because the page is served over plain HTTP on this machine.
    strictTransportSecurity: false,
    overwrite: false,
  });
}

export function createGuard(options: GuardOptions): MiddlewareHandler {
  const digest = sha256(options.token);
  const isToken = (given: string) => timingSafeEqual(sha256(given), digest);

  return async (context, next) => {
    if (options.signedPaths.includes(context.req.path)) return await next();
    const host = context.req.header("host") ?? "";
    if (!allowedHosts(options.port()).includes(host.toLowerCase())) return context.text(wrongHost(options.port()), 403);
    if (options.openPaths.includes(context.req.path)) return await next();

    const inLink = context.req.query("token");
    if (inLink !== undefined && context.req.method === "GET") {
      return isToken(inLink) ? signIn(context, options.port(), inLink) : refuse(context, 403, wrongToken);
    }
    const bearer = bearerToken(context.req.header("authorization"));
    const given = bearer ?? getCookie(context, cookieName(options.port()));
    if (given === undefined) return refuse(context, 401, missingToken);
    if (!isToken(given)) return refuse(context, 403, wrongToken);

    const origin = context.req.header("origin");
    const isReading = context.req.method === "GET" || context.req.method === "HEAD";
    if (!isReading && !isOwnOrigin(origin, host, bearer !== undefined)) return context.text(wrongOrigin, 403);
    await next();
  };
}

const tokenHelp =
  "Open the link that Remora printed when it started (it ends in ?token=…), or send `Authorization: Bearer TOKEN`.";
const missingToken = {
  reason: "This browser has not been here with the link yet.",
  text: `This page needs a token. ${tokenHelp}\n`,
};
const wrongToken = {
  reason: "The token in this link, or the one that this browser remembers, is not valid here.",
  text: `This token is wrong; it may belong to another data folder. ${tokenHelp}\n`,
};
const wrongOrigin = "Refused: this request comes from another site. Use Remora's own page.\n";

function wrongHost(port: number): string {
  return `Refused: this server answers only as ${allowedHosts(port).join(", ")}. Use one of these names.\n`;
}

function allowedHosts(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

/** Browsers send an Origin with every request except GET. Only programs may omit it. */
function isOwnOrigin(origin: string | undefined, host: string, isProgram: boolean): boolean {
  return origin === undefined ? isProgram : origin === `http://${host}`;
}

const cookieMaxAgeSeconds = 365 * 24 * 60 * 60;

/** Redirects, to keep the token out of the address bar, history and screenshots. */
function signIn(context: Context, port: number, token: string): Response {
  setCookie(context, cookieName(port), token, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    maxAge: cookieMaxAgeSeconds,
  });
  const url = new URL(context.req.url);
  url.searchParams.delete("token");
  return context.redirect(url.pathname.replace(/^\/+/, "/") + url.search, 303);
}

/** Ports share cookies, so the name includes the port to keep two Remoras on one machine apart. */
function cookieName(port: number): string {
  return `remora_${port}`;
}

function bearerToken(header: string | undefined): string | undefined {
  return header?.match(/^Bearer (\S+)$/i)?.[1];
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
