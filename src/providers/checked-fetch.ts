/**
 * The `fetch` function of every client library. Calls `onSent` when the request has been sent. Turns an error status, a
 * web page, or plain JSON instead of a stream into a failure, and repairs events, in the same way for all libraries. No redirect is
 * followed.
 */
import { randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { redirectOf, shownUrl } from "../lib/fetch-directly.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import { failure, reportedFailure, statusFailure } from "./classify-failure.ts";
import { type ErrorBody, errorBodyOf, retryAfterOf } from "./error-body.ts";
import type { ProviderPlace } from "./failure-kinds.ts";

export interface CheckedFetch {
  fetch: typeof globalThis.fetch;
  /** Returns the error of the last request, because libraries wrap errors and lose some. */
  thrown(): unknown;
}

/** This much of a body suffices to find its error. */
const maxErrorBodyBytes = 64_000;

/** `answers`: whether the expected response is plain JSON or a stream. */
export function createCheckedFetch(
  place: ProviderPlace,
  signal: AbortSignal,
  onSent: () => void,
  answers: "stream" | "json" = place.name === "ollama" ? "json" : "stream",
): CheckedFetch {
  let thrown: unknown;

  async function checkedFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    thrown = undefined;
    const signals = init.signal ? [signal, init.signal] : [signal];
    const headers = new Headers(init.headers);
    const id = randomUUID();
    headers.set("x-client-request-id", id);
    thrown = undefined;
    const stopWatching = watchSent(id, onSent);
    try {
      const response = await fetch(input, {
        ...init,
        headers,
        redirect: "manual",
        signal: AbortSignal.any(signals),
      });
      onSent();
      const target = redirectOf(response, input instanceof Request ? input.url : String(input));
      if (target !== undefined) {
        await response.body?.cancel();
        throw failure(place, "moved", { note: String(response.status), said: shownUrl(target) });
      }
      await check(place, response, answers);
      return response;
    } catch (error) {
      thrown = error;
      throw error;
    } finally {
      stopWatching();
    }
  }

  return { fetch: checkedFetch, thrown: () => thrown };
}

/** Uses the HTTP client's diagnostics channel: `fetch` can't distinguish a slow connection from a slow answer. */
function watchSent(id: string, onSent: () => void): () => void {
  const channel = "undici:client:sendHeaders";
  const listener = (message: unknown) => {
    if (typeof message !== "object" || message === null || !("headers" in message)) return;
    if (String(message.headers).includes(id)) onSent();
  };
  subscribe(channel, listener);
  return () => unsubscribe(channel, listener);
}

async function check(place: ProviderPlace, response: Response, answers: "stream" | "json"): Promise<void> {
  const type = response.headers.get("content-type") ?? "";
  const isPage = /text\/html|application\/xhtml/i.test(type);
  const isJson = /application\/json/i.test(type);
  if (response.ok && !isPage && !(isJson && answers === "stream")) return;
  const text = await readSome(response);
  if (!response.ok) {
    const retryAfterMs = retryAfterOf(response.headers, Date.now());
    throw statusFailure(place, response.status, isPage ? emptyBody : parseErrorBody(text), { isPage, retryAfterMs });
  }
  if (isPage) throw failure(place, "notAnApi");
  const body = parseErrorBody(text);
  // Gateways refuse also with status 200, and have the real one in the body.
  const isReport = errorField(text) || (Number(body.code) >= 400 && Number(body.code) < 600);
  if (isReport) throw reportedFailure(place, body);
  throw failure(place, "malformed", { said: body.message || "plain JSON instead of a stream" });
}

function errorField(text: string): boolean {
  const value = parseJson(text);
  const first = Array.isArray(value) ? value[0] : value;
  return isJsonObject(first) && Boolean(first.error);
}

const emptyBody: ErrorBody = { message: "", type: "", code: "" };

function parseErrorBody(text: string): ErrorBody {
  return errorBodyOf(parseJson(text) ?? text);
}

async function readSome(response: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > maxErrorBodyBytes) break;
    }
  } catch {
    // The body can't be read completely, but the status suffices.
  }
  return text;
}

/**
 * Repairs a stream of events before a client library reads it: leaves out events without data or with null, which only keep the connection
 * open and which libraries take for broken JSON, and gives events their missing names where the library goes by them. Calls
 * `onComment` for comments, which services send while the model is silent, and which libraries hide.
 */
export function withRepairedEvents(place: ProviderPlace, response: Response, onComment: () => void): Response {
  const { body, headers, status } = response;
  if (body === null || place.name === "ollama") return response;
  let rest = "";
  let event: string[] = [];
  const ended = (): string => {
    const whole = event;
    event = [];
    const data = whole.flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? []).join("\n");
    if (/^\s*(?:null)?\s*$/.test(data)) return "";
    const isUnnamed = place.name === "anthropic" && !whole.some((line) => line.startsWith("event:"));
    return `${[...(isUnnamed ? nameIn(data) : []), ...whole].join("\n")}\n\n`;
  };
  const read = (line: string): string => {
    if (line === "") return ended();
    if (line.startsWith(":")) onComment();
    else event.push(line);
    return "";
  };
  const repaired = new TransformStream<string, string>({
    transform(text, controller) {
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      const output = lines.map(read).join("");
      if (output !== "") controller.enqueue(output);
    },
    flush(controller) {
      // What is left has no end. The library decides whether it counts.
      const left = [...event, rest].join("\n");
      if (left !== "") controller.enqueue(left);
    },
  });
  const stream = body.pipeThrough(new TextDecoderStream()).pipeThrough(repaired).pipeThrough(new TextEncoderStream());
  return new Response(stream, { headers, status });
}

function nameIn(data: string): string[] {
  const value = parseJson(data);
  return isJsonObject(value) && typeof value.type === "string" ? [`event: ${value.type}`] : [];
}
