/**
 * Guards the web server. Checks every request in this order:
 *
 *   1. the connection must come from this machine, and Host name it; or Host must be that of `web.publicUrl`. Anything
 *      else may be DNS rebinding, or somebody on the network
 *   2. a session of a person who has signed in (accounts/), whose role must suffice for the endpoint; or the token, which
 *      counts only at this machine: in the printed link (which sets the cookie and redirects), cookie or bearer header
 *   3. a request that changes something must come from this origin: with a session, it also needs the session's own
 *      token; with a bearer header, it needs no Origin
 *
 * Health and metrics need no token, because they reveal nothing personal; elsewhere, only that the process lives is
 * told, to everybody. Handlers of signed paths check signatures.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";
import { isAtLeast, type Visitor } from "../ports/visitor.ts";
import type { Accounts, VisitingPerson } from "./accounts/accounts.ts";
import { cookiesFor } from "./accounts/cookies.ts";
import { leastRoleFor } from "./accounts/endpoint-roles.ts";
import type { Place } from "./place.ts";
import { refuse } from "./visitor-page.ts";

declare module "hono" {
  interface ContextVariableMap {
    place: Place;
    visitor: Visitor;
  }
}

export interface GuardOptions {
  token: string;
  /** The port is known only once the server listens. */
  port(): number;
  placeOf(context: Context): Place;
  /** Absent while the process waits for its state. */
  accounts(): Accounts | undefined;
  /** Need no token at this machine. */
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
  const isToken = tokenCheck(options.token);

  return async (context, next) => {
    const { path } = context.req;
    if (path === "/healthz" || options.signedPaths.includes(path)) return await next();
    const place = options.placeOf(context);
    if (place.type === "refused") return context.text(`${place.reason}\n`, 403);
    context.set("place", place);
    if (place.type === "machine" && options.openPaths.includes(path)) return await next();

    const accounts = options.accounts();
    if (accounts !== undefined && isSignIn(path)) return await next();
    const inLink = context.req.query("token");
    const isWithToken = inLink !== undefined || bearerToken(context) !== undefined;
    const person = isWithToken ? undefined : await personOf(context, accounts, options.port());
    if (person !== undefined) return await asPerson(context, person, next);
    if (place.type === "public") return await refusePublic(context, isWithToken, accounts);

    if (inLink !== undefined && context.req.method === "GET") {
      return isToken(inLink) ? rememberToken(context, options.port(), inLink) : refuse(context, 403, wrongToken);
    }
    const bearer = bearerToken(context);
    const given = bearer ?? getCookie(context, cookieName(options.port()));
    if (given === undefined || !isToken(given)) {
      const canSignIn = (await accounts?.isOffered()) === true;
      return given === undefined
        ? refuse(context, 401, { ...missingToken, canSignIn })
        : refuse(context, 403, { ...wrongToken, canSignIn });
    }
    if (!isReading(context) && !isOwnOrigin(context, place, bearer !== undefined))
      return context.text(wrongOrigin, 403);
    context.set("visitor", { type: "machine" });
    await next();
  };
}

/** The paths below check the host, the origin and the number of attempts themselves. */
function isSignIn(path: string): boolean {
  return path === "/sign-in" || path.startsWith("/sign-in/");
}

async function personOf(context: Context, accounts: Accounts | undefined, port: number) {
  if (accounts === undefined) return undefined;
  const { isHttps } = context.get("place").client;
  const secret = getCookie(context, cookiesFor(isHttps, port).session);
  return secret === undefined ? undefined : await accounts.visitorOf(secret);
}

async function asPerson(context: Context, person: VisitingPerson, next: () => Promise<void>) {
  // What one person sees must not be stored where the next one could see it.
  context.header("Cache-Control", "private, no-store");
  context.header("Vary", "Cookie");
  const { method, path } = context.req;
  if (path === "/" && method === "GET") return context.redirect("/dashboard", 303);
  const least = leastRoleFor(method, path);
  if (least === undefined) return denied(context, "Only the person at the machine can use this.");
  if (!isAtLeast(person.role, least))
    return denied(context, `Your role, ${person.role}, can't do this. It needs the role ${least}.`);
  if (!isReading(context)) {
    if (!isOwnOrigin(context, context.get("place"), false)) return context.text(wrongOrigin, 403);
    if (!isSame(context.req.header("x-remora-csrf") ?? "", person.csrfToken))
      return denied(context, "This page is out of date, so nothing was changed. Reload it.");
  }
  context.set("visitor", person);
  await next();
}

async function refusePublic(context: Context, isWithToken: boolean, accounts: Accounts | undefined) {
  context.header("Cache-Control", "no-store");
  if (isWithToken) return context.text(tokenElsewhere, 403);
  const isPage = context.req.method === "GET" && context.req.header("accept")?.includes("text/html") === true;
  const { path } = context.req;
  if (isPage && accounts !== undefined) return context.redirect(`/sign-in?to=${encodeURIComponent(path)}`, 303);
  return context.json({ accepted: false, text: signedOut, error: signedOut, signIn: "/sign-in" }, 401);
}

function denied(context: Context, text: string) {
  return context.json({ accepted: false, text, error: text }, 403);
}

const signedOut = "You are signed out. Sign in again.";
const tokenElsewhere =
  "Refused: the link with the token works only at the machine where Remora runs. From elsewhere, sign in with an account.\n";
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

function isReading(context: Context): boolean {
  return context.req.method === "GET" || context.req.method === "HEAD";
}

/** Browsers send an Origin with every request except GET. Only programs may omit it. */
function isOwnOrigin(context: Context, place: Place, isProgram: boolean): boolean {
  const origin = context.req.header("origin");
  return origin === undefined ? isProgram : place.type !== "refused" && origin === place.origin;
}

const cookieMaxAgeSeconds = 365 * 24 * 60 * 60;

/** Redirects, to keep the token out of the address bar, history and screenshots. */
function rememberToken(context: Context, port: number, token: string): Response {
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

function bearerToken(context: Context): string | undefined {
  return context.req.header("authorization")?.match(/^Bearer (\S+)$/i)?.[1];
}

function tokenCheck(token: string): (given: string) => boolean {
  const digest = sha256(token);
  return (given) => timingSafeEqual(sha256(given), digest);
}

function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(sha256(given), sha256(expected));
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
