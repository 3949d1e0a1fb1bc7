/**
 * Receives Slack's HTTP requests on the process's own server:
 *
 *   1. refuses an oversized body with 413, and a missing or old signature with 401, before reading the body
 *   2. verifies the signature of the raw body, and refuses a wrong one with 401
 *   3. answers `url_verification` and `ssl_check`
 *   4. acknowledges a repeated click, form or command without running it: Slack sends these once, so it is a replay
 *   5. passes all other requests through Bolt, and answers 200 if the request was stored, otherwise 500
 */
import type { App, Receiver } from "@slack/bolt";
import { verifySlackRequest } from "@slack/bolt";
import type { Context, Hono, Next } from "hono";
import { messageOf } from "../../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../../lib/json.ts";
import type { Log } from "../../../lib/log.ts";
import { createLruMap } from "../../../lib/lru-map.ts";
import { limitBody } from "../../shared/limit-body.ts";
import { signatureLifetimeMs } from "../limits.ts";
import { dispatch } from "./dispatch.ts";

const eventsPath = "/slack/events";

export interface HttpReceiver extends Receiver {
  mount(app: Hono): void;
}

const maxBodyBytes = 4 * 1024 * 1024;
const minLogIntervalMs = 60_000;
/** Requests of the last five minutes. An older one is refused because its signature is too old. */
const maxKnownRequests = 10_000;

export function createHttpReceiver(options: { signingSecret: string; log: Log }): HttpReceiver {
  const { signingSecret, log } = options;
  const done = createLruMap<true>(maxKnownRequests);
  let app: App | undefined;
  let isOpen = false;
  let refusals = { count: 0, loggedAt: Number.NEGATIVE_INFINITY };

  /** Logs only at intervals, because anybody can send requests. */
  function logRefusal(problem: string): void {
    refusals.count++;
    if (Date.now() - refusals.loggedAt < minLogIntervalMs) return;
    log.warn({ problem, refused: refusals.count }, "refused a request to /slack/events");
    refusals = { count: 0, loggedAt: Date.now() };
  }

  function refuseSize(context: Context): Response {
    logRefusal(`it has more than ${maxBodyBytes / 1024 / 1024} MiB`);
    return context.text("Request too large.\n", 413);
  }

  async function checkHeaders(context: Context, next: Next): Promise<Response | undefined> {
    if (Number(context.req.header("content-length")) > maxBodyBytes) return refuseSize(context);
    const problem = headerProblem(context);
    if (problem !== undefined) return refuse(context, problem);
    await next();
    return undefined;
  }

  async function receive(context: Context): Promise<Response> {
    const raw = await context.req.text();
    const problem = signatureProblem(context, raw);
    if (problem !== undefined) return refuse(context, problem);
    const body = bodyOf(raw, context.req.header("content-type") ?? "");
    if (body === undefined) return context.text("Not a Slack request.\n", 400);
    if (body.type === "url_verification") return context.json({ challenge: body.challenge });
    if (body.ssl_check === "1") return context.body(null, 200);
    // During start and stop nothing can be stored. Slack sends the request again.
    if (app === undefined || !isOpen) return context.text("Remora is not ready yet.\n", 503);
    const signature = context.req.header("x-slack-signature") ?? "";
    if (body.type !== "event_callback") {
      if (done.has(signature)) return context.body(null, 200);
      done.set(signature, true);
    }
    try {
      const answer = await dispatch(app, body);
      if (answer === undefined || answer === "") return context.body(null, 200);
      return typeof answer === "string" ? context.text(answer) : context.json(answer);
    } catch (thrown) {
      done.delete(signature);
      log.error({ error: messageOf(thrown) }, "could not keep a Slack request; Slack will resend it");
      return context.text("Could not keep the request.\n", 500);
    }
  }

  function refuse(context: Context, problem: string): Response {
    logRefusal(problem);
    return context.text("Invalid signature.\n", 401);
  }

  function signatureOf(context: Context) {
    return {
      "x-slack-signature": context.req.header("x-slack-signature") ?? "",
      "x-slack-request-timestamp": Number(context.req.header("x-slack-request-timestamp") ?? Number.NaN),
    };
  }

  function headerProblem(context: Context): string | undefined {
    const { "x-slack-signature": signature, "x-slack-request-timestamp": timestamp } = signatureOf(context);
    if (signature === "" || Number.isNaN(timestamp)) return "it has no signature";
    const offMs = timestamp * 1000 - Date.now();
    if (Math.abs(offMs) <= signatureLifetimeMs) return undefined;
    return `its time is ${Math.round(Math.abs(offMs) / 1000)} s ${offMs < 0 ? "behind" : "ahead of"} this machine's clock`;
  }

  function signatureProblem(context: Context, body: string): string | undefined {
    try {
      verifySlackRequest({
        signingSecret,
        body,
        headers: signatureOf(context),
        nowMilliseconds: Date.now(),
      });
      return undefined;
    } catch (thrown) {
      return messageOf(thrown);
    }
  }

  return {
    init(bolt) {
      app = bolt;
    },
    async start() {
      isOpen = true;
    },
    async stop() {
      isOpen = false;
    },
    mount(server) {
      server.post(eventsPath, checkHeaders, limitBody(maxBodyBytes, refuseSize), receive);
    },
  };
}

function bodyOf(raw: string, contentType: string): Record<string, unknown> | undefined {
  if (!contentType.startsWith("application/x-www-form-urlencoded")) return objectIn(raw);
  const fields = Object.fromEntries(new URLSearchParams(raw));
  return fields.payload === undefined ? fields : objectIn(fields.payload);
}

function objectIn(json: string): Record<string, unknown> | undefined {
  const value = parseJson(json);
  return isJsonObject(value) ? value : undefined;
}
