/**
 * Receives Slack's HTTP requests on the process's own server:
 *
 *   1. refuses a missing or old signature with 401, before reading the body
 *   2. reads the body within the budget for strangers
 *   3. verifies the signature of its bytes, and refuses a wrong one with 401. From here on, only signed bytes count: other
 *      headers, such as the type of the content, may be anybody's
 *   4. answers `url_verification` and `ssl_check`, and takes `app_rate_limited`
 *   5. acknowledges a request that has run already, without running it (signed-requests.ts)
 *   6. passes all other requests through Bolt, and answers 200 if the request was stored, otherwise 500
 */
import { isUtf8 } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { App, Receiver } from "@slack/bolt";
import type { Context, Hono } from "hono";
import { messageOf } from "../../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../../lib/json.ts";
import type { Log } from "../../../lib/log.ts";
import type { BodyRefusal, ReadBody } from "../../../lib/read-body.ts";
import { maxAnswerMs, signatureLifetimeMs } from "../limits.ts";
import { dispatch, droppedMinuteOf } from "./dispatch.ts";
import type { SignedRequests } from "./signed-requests.ts";

const eventsPath = "/slack/events";

export interface HttpReceiver extends Receiver {
  mount(app: Hono, readBody: ReadBody): void;
}

const maxBodyBytes = 4 * 1024 * 1024;
/** Exactly as Slack writes them, so that a request can't be told in two ways. */
const signatureForm = /^v0=([0-9a-f]{64})$/;
const timestampForm = /^[1-9]\d{0,11}$/;
const minLogIntervalMs = 60_000;

export interface HttpReceiverOptions {
  signingSecret: string;
  requests: SignedRequests;
  /** Slack sends no events of this minute, which begins at this time in Unix seconds. Rejects if Slack has to say so again. */
  onDropped(minute: number): Promise<void>;
  log: Log;
}

export function createHttpReceiver({ signingSecret, requests, onDropped, log }: HttpReceiverOptions): HttpReceiver {
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

  async function receive(context: Context, readBody: ReadBody): Promise<Response> {
    if (Number(context.req.header("content-length")) > maxBodyBytes) return refuse(context, "it is too long", 413);
    const signed = readSignature(context);
    if ("problem" in signed) return refuse(context, signed.problem, 401);
    const raw = await readBody(context, maxBodyBytes);
    if (!Buffer.isBuffer(raw)) return refuse(context, raw.reason, raw.status);
    const hash = createHmac("sha256", signingSecret).update(`v0:${signed.timestamp}:`).update(raw).digest();
    if (!timingSafeEqual(hash, signed.hash)) return refuse(context, "its signature is wrong", 401);
    const body = bodyOf(raw);
    if (body === undefined) return context.text("Not a Slack request.\n", 400);
    if (body.type === "url_verification") return context.json({ challenge: body.challenge });
    if (body.ssl_check === "1") return context.body(null, 200);
    // During start and stop nothing can be stored. Slack sends the request again.
    if (app === undefined || !isOpen) return context.text("Remora is not ready yet.\n", 503);
    const dropped = droppedMinuteOf(body);
    if (dropped !== undefined) {
      try {
        await onDropped(dropped);
        return context.body(null, 200);
      } catch (thrown) {
        return couldNotKeep(context, thrown);
      }
    }
    return await runOnce(context, app, body, hash.toString("hex"));
  }

  async function runOnce(context: Context, to: App, body: Record<string, unknown>, hash: string): Promise<Response> {
    const arrivedAt = performance.now();
    let isTaken = false;
    try {
      const may = await requests.begin(hash);
      if (may === "done") return context.body(null, 200);
      if (may === "busy") return context.text("Remora is busy.\n", 503);
      isTaken = true;
      // Slack has told the person that it failed.
      if (body.type !== "event_callback" && performance.now() - arrivedAt > maxAnswerMs)
        throw new Error("it is too late");
      const answer = await dispatch(to, body, () => requests.done(hash));
      if (answer === undefined || answer === "") return context.body(null, 200);
      return typeof answer === "string" ? context.text(answer) : context.json(answer);
    } catch (thrown) {
      if (isTaken) await requests.failed(hash).catch(() => {});
      return couldNotKeep(context, thrown);
    }
  }

  function couldNotKeep(context: Context, thrown: unknown): Response {
    log.error({ error: messageOf(thrown) }, "could not keep a Slack request; Slack sends events again");
    return context.text("Could not keep the request.\n", 500);
  }

  function refuse(context: Context, problem: string, status: 401 | BodyRefusal["status"]): Response {
    logRefusal(problem);
    return context.text(status === 401 ? "Invalid signature.\n" : "The request is too large or too slow.\n", status);
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
    mount(server, readBody) {
      server.post(eventsPath, (context) => receive(context, readBody));
    },
  };
}

function readSignature(context: Context): { hash: Buffer; timestamp: string } | { problem: string } {
  const [, hash] = signatureForm.exec(context.req.header("x-slack-signature") ?? "") ?? [];
  const timestamp = context.req.header("x-slack-request-timestamp") ?? "";
  if (hash === undefined || !timestampForm.test(timestamp)) return { problem: "it has no signature" };
  const offMs = Number(timestamp) * 1000 - Date.now();
  if (Math.abs(offMs) <= signatureLifetimeMs) return { hash: Buffer.from(hash, "hex"), timestamp };
  const seconds = Math.round(Math.abs(offMs) / 1000);
  return { problem: `its time is ${seconds} s ${offMs < 0 ? "behind" : "ahead of"} this machine's clock` };
}

/** The beginning tells the two forms apart, because the type of the content is not signed. */
function bodyOf(raw: Buffer): Record<string, unknown> | undefined {
  if (!isUtf8(raw)) return undefined;
  const text = raw.toString();
  if (text.startsWith("{")) return objectIn(text);
  const { payload, ...fields } = Object.fromEntries(new URLSearchParams(text));
  if (payload !== undefined) return objectIn(payload);
  return "command" in fields || "ssl_check" in fields ? fields : undefined;
}

function objectIn(json: string): Record<string, unknown> | undefined {
  const value = parseJson(json);
  return isJsonObject(value) ? value : undefined;
}
