/**
 * Delivery over HTTP to the app's request URL: signed with v0 signatures, events as JSON, the rest as forms, retries told
 * in headers. Requests that Slack would never send (unsigned, badly signed, stale, malformed) go out through `sendRaw`.
 * Rule: requests-are-signed
 */
import { createHmac } from "node:crypto";
import { type IncomingHttpHeaders, request } from "node:http";
import type { Delivery, Outcome, Transport } from "./delivery.ts";
import type { SlackState } from "./state.ts";
import { isObject, type JsonObject } from "./wire.ts";

export type Signature = "good" | "bad" | "stale" | "missing" | "wrong-version";

export interface RawRequest {
  body: string;
  contentType?: "application/json" | "application/x-www-form-urlencoded";
  signature?: Signature;
  headers?: Record<string, string>;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface HttpDelivery {
  /** The app's request URL; undefined means Socket Mode. */
  target: string | undefined;
  signingSecret: string;
  /** Every request sent to the app, with its response. */
  log: { headers: Record<string, string>; body: string; answer: HttpAnswer | undefined }[];
  /** Slack's URL handshake. Resolves to whether the challenge was returned. */
  verifyUrl(): Promise<boolean>;
  /** Rejects when there is no answer. */
  sendRaw(raw: RawRequest, signal?: AbortSignal): Promise<HttpAnswer>;
  send: Transport;
}

export function createHttpDelivery(state: SlackState, signingSecret: string): HttpDelivery {
  function signed(body: string, signature: Signature): Record<string, string> {
    if (signature === "missing") return {};
    const age = signature === "stale" ? 6 * 60 : 0;
    const timestamp = String(Math.floor(state.clock.now() / 1000) - age);
    const secret = signature === "bad" ? `not ${delivery.signingSecret}` : delivery.signingSecret;
    const hash = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
    const version = signature === "wrong-version" ? "v1" : "v0";
    return { "x-slack-request-timestamp": timestamp, "x-slack-signature": `${version}=${hash}` };
  }

  async function sendRaw(raw: RawRequest, signal?: AbortSignal): Promise<HttpAnswer> {
    if (delivery.target === undefined) throw new Error("slack double: http.target is not set");
    const headers = {
      "content-type": raw.contentType ?? "application/json",
      "user-agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
      ...signed(raw.body, raw.signature ?? "good"),
      ...raw.headers,
    };
    const entry: HttpDelivery["log"][number] = { headers, body: raw.body, answer: undefined };
    delivery.log.push(entry);
    entry.answer = await post(delivery.target, headers, raw.body, signal);
    state.changed();
    return entry.answer;
  }

  const delivery: HttpDelivery = {
    target: undefined,
    signingSecret,
    log: [],
    sendRaw,
    async verifyUrl() {
      const challenge = state.id("challenge");
      const body = { token: state.app.verificationToken, challenge, type: "url_verification" };
      const answer = await sendRaw({ body: JSON.stringify(body) });
      const parsed = parse(answer.body);
      return answer.status === 200 && (answer.body === challenge || parsed?.challenge === challenge);
    },
    send(sent, attempt, settle, signal) {
      const retry: Record<string, string> =
        attempt.number === 0
          ? {}
          : { "x-slack-retry-num": String(attempt.number), "x-slack-retry-reason": httpReason(attempt.reason) };
      sendRaw({ ...requestFor(sent), headers: retry }, signal).then(
        (answer) => settle(outcomeOf(answer)),
        () => settle({ type: "gone" }),
      );
    },
  };
  return delivery;
}

/** One connection per request, like Slack's many machines. */
function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal | undefined,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers, agent: false, ...(signal === undefined ? {} : { signal }) };
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function requestFor(delivery: Delivery): RawRequest {
  switch (delivery.kind) {
    case "events_api":
      return { body: JSON.stringify(delivery.payload) };
    case "interactive":
      return form({ payload: JSON.stringify(delivery.payload) });
    case "slash_commands":
      return form(Object.fromEntries(Object.entries(delivery.payload).map(([name, value]) => [name, String(value)])));
    default:
      return delivery.kind satisfies never;
  }
}

function form(fields: Record<string, string>): RawRequest {
  return { body: new URLSearchParams(fields).toString(), contentType: "application/x-www-form-urlencoded" };
}

function outcomeOf(answer: HttpAnswer): Outcome {
  if (answer.status < 200 || answer.status > 299) {
    const isFinal = answer.headers["x-slack-no-retry"] === "1";
    return { type: "refused", status: answer.status, body: answer.body, isFinal };
  }
  const parsed = parse(answer.body);
  return { type: "acknowledged", payload: parsed ?? (answer.body === "" ? {} : { text: answer.body }) };
}

function httpReason(reason: string): string {
  return reason === "timeout" ? "http_timeout" : reason;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
