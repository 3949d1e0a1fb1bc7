/** The REST API over HTTP: each request is logged, passes faults and limits, and is answered by its route. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError, createForm, refusal } from "./api-error.ts";
import { timeOfId } from "./clock.ts";
import type { Fault, Faults } from "./faults.ts";
import { snowflake } from "./fields.ts";
import type { RateLimits } from "./rate-limits.ts";
import { type Body, parseBody, readBytes } from "./read-body.ts";
import type { LoggedRequest } from "./request-log.ts";
import type { Match, Router } from "./router.ts";
import type { World } from "./world.ts";

export interface Rest {
  requests: LoggedRequest[];
  handle(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): Promise<void>;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body?: unknown;
  /** In place of JSON. */
  html?: string;
}

/** Interactions are not bound to the limit over all routes. */
const freeOfGlobal = /^\/(interactions|webhooks)\//;

export function createRest(world: World, router: Router, limits: RateLimits, faults: Faults): Rest {
  const requests: LoggedRequest[] = [];
  let bannedUntil = 0;

  /** Rule `invalid-requests`. */
  function countInvalid({ status, headers }: Answer): void {
    if (![401, 403, 429].includes(status) || headers["x-ratelimit-scope"] === "shared") return;
    const { refused } = limits.take("invalid", "", false);
    if (refused !== undefined) bannedUntil = world.clock.now() + refused.retryAfter * 1_000;
  }

  function answer(entry: LoggedRequest, body: Body | ApiError, match: Match | "wrong-method" | undefined): Answer {
    let headers: Record<string, string> = {};
    try {
      if (match === undefined) throw refusal("notFound");
      if (match === "wrong-method") throw refusal("methodNotAllowed");
      const { route, parts, resource } = match;
      const isKnown = route.isOpen || entry.headers.authorization === `Bot ${world.application.token}`;
      if (!isKnown) throw refusal("unauthorized");
      const allowance = limits.take(route.limit ?? route.name, resource, !freeOfGlobal.test(entry.path));
      headers = allowance.headers;
      if (allowance.refused !== undefined) return tooMany(headers, allowance.refused);
      demandIds(parts);
      if (route.name === "messages.edit" && timeOfId(parts.message ?? "") < world.clock.now() - hourMs) {
        const { refused } = limits.take("messages.edit-old", parts.channel ?? "", false);
        if (refused !== undefined) return tooManyOldEdits(headers, refused.retryAfter);
      }
      if (body instanceof ApiError) throw body;
      const given = route.handle({ world, parts, query: entry.query, json: body.json, files: body.files });
      const status = given.status ?? (given.body === undefined ? 204 : 200);
      return { status, headers, ...(given.body === undefined ? {} : { body: given.body }) };
    } catch (thrown) {
      if (thrown instanceof ApiError) return { status: thrown.status, headers, body: thrown.body };
      throw thrown;
    }
  }

  return {
    requests,
    async handle(request, response, path, query) {
      const bytes = await readBytes(request);
      const body = await parseBody(bytes, String(request.headers["content-type"] ?? ""));
      const method = request.method ?? "GET";
      const match = router.find(method, path);
      const entry: LoggedRequest = {
        method,
        path,
        query,
        route: typeof match === "object" ? match.route.name : "",
        headers: request.headers,
        ...bodyForLog(bytes, body),
        at: world.clock.now(),
      };
      requests.push(entry);
      const fault = faults.take(entry);
      if (fault?.type === "hang") return;
      if (fault?.type === "cut" && fault.when === "before") {
        breakOff(request.socket, fault.isReset);
        return;
      }
      const bannedMs = bannedUntil - world.clock.now();
      const given = bannedMs > 0 ? banned(bannedMs) : (instead(fault) ?? answer(entry, body, match));
      if (bannedMs <= 0) countInvalid(given);
      if (fault?.type === "answer" && fault.isDone) answer(entry, body, match);
      if (fault?.type === "delay") await new Promise((resolve) => setTimeout(resolve, fault.milliseconds));
      const date = new Date(world.clock.now()).toUTCString();
      write(response, { ...given, headers: { date, ...given.headers } }, fault);
      entry.status = given.status;
      entry.answer = given.body;
      const code = (given.body as { code?: unknown } | undefined)?.code;
      if (given.status >= 400 && typeof code === "number") entry.code = code;
      world.changed();
    },
  };
}

const hourMs = 3_600_000;

/** Besides the route's own limit, which its headers tell. */
function tooManyOldEdits(headers: Record<string, string>, retryAfter: number): Answer {
  const answer = tooMany({ ...headers, "x-ratelimit-scope": "user" }, { retryAfter, isGlobal: false });
  const message = "Maximum number of edits to messages older than 1 hour reached. Try again later";
  return { ...answer, body: { ...(answer.body as object), message, code: 30046 } };
}

const idParts = ["channel", "guild", "message", "user", "role", "application", "command", "interaction"];

/** The ids in a path are numbers, but for the names that stand for one. */
function demandIds(parts: Record<string, string>): void {
  const form = createForm();
  for (const key of idParts) {
    const value = parts[key];
    if (value !== undefined && value !== "@me" && value !== "@original") snowflake(form, value, [`${key}_id`]);
  }
  form.check();
}

/** What a fault answers in the route's place. */
function instead(fault: Fault | undefined): Answer | undefined {
  if (fault?.type === "rate-limit") {
    const { retryAfterSeconds: retryAfter, scope = "user" } = fault;
    const global = scope === "global" ? { "x-ratelimit-global": "true" } : {};
    return tooMany({ "x-ratelimit-scope": scope, ...global }, { retryAfter, isGlobal: scope === "global" });
  }
  if (fault?.type !== "answer") return undefined;
  return {
    status: fault.status,
    headers: fault.headers ?? {},
    ...(fault.body === undefined ? {} : { body: fault.body }),
  };
}

/** From Cloudflare, which knows nothing of Discord's routes. */
function banned(ms: number): Answer {
  return {
    status: 429,
    headers: { "retry-after": String(Math.ceil(ms / 1_000)), server: "cloudflare" },
    html: "<!DOCTYPE html><html><head><title>Access denied | discord.com used Cloudflare to restrict access</title></head><body><h1>Error 1015</h1><p>You are being rate limited</p></body></html>",
  };
}

function tooMany(headers: Record<string, string>, refused: { retryAfter: number; isGlobal: boolean }): Answer {
  const { retryAfter, isGlobal } = refused;
  return {
    status: 429,
    headers: { ...headers, "retry-after": String(Math.max(1, Math.ceil(retryAfter))) },
    body: {
      message: "You are being rate limited.",
      retry_after: Number(retryAfter.toFixed(3)),
      global: isGlobal,
      code: 0,
    },
  };
}

function write(response: ServerResponse, { status, headers, body, html }: Answer, fault: Fault | undefined): void {
  const text = html ?? (body === undefined ? "" : JSON.stringify(body));
  const type =
    text === "" ? {} : { "content-type": html === undefined ? "application/json" : "text/html; charset=UTF-8" };
  response.writeHead(status, {
    ...type,
    ...headers,
    "content-length": String(Buffer.byteLength(text) + (fault?.type === "cut" ? 1 : 0)),
  });
  if (fault?.type !== "cut") {
    response.end(text);
    return;
  }
  response.write(text.slice(0, Math.floor(text.length / 2)), () => {
    if (response.socket !== null) breakOff(response.socket, fault.isReset);
  });
}

function breakOff(socket: Socket, isReset = false): void {
  if (isReset) socket.resetAndDestroy();
  else socket.destroySoon();
}

function bodyForLog(bytes: Buffer, body: Body | ApiError): Pick<LoggedRequest, "body" | "files"> {
  if (body instanceof ApiError) return { body: bytes.toString(), files: [] };
  return { body: body.json, files: body.files.map((file) => ({ name: file.filename, bytes: file.bytes.length })) };
}
