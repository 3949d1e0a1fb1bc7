/**
 * The `fetch` function of every client library. Calls `onSent` when the request has been sent. Turns an error status, a
 * web page, or plain JSON instead of a stream into a failure, in the same way for all libraries.
 */
import { randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { parseJson } from "../lib/json.ts";
import { failure, statusFailure } from "./classify-failure.ts";
import { type ErrorBody, errorBodyOf, retryAfterOf } from "./error-body.ts";
import type { ProviderPlace } from "./failure-kinds.ts";

export interface CheckedFetch {
  fetch: typeof globalThis.fetch;
  /** Returns the error of the last request, because libraries wrap errors and lose some. */
  thrown(): unknown;
}

const colon = 0x3a;

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
      const response = await fetch(input, { ...init, headers, signal: AbortSignal.any(signals) });
      onSent();
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
  throw failure(place, "malformed", { said: parseErrorBody(text).message || "plain JSON instead of a stream" });
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
 * Calls `onComment` for comments in a stream of events. Services send them while the model is silent, and libraries hide them.
 * A comment travels alone.
 */
export function withComments(response: Response, onComment: () => void): Response {
  const { body, headers, status } = response;
  if (body === null || !/text\/event-stream/i.test(headers.get("content-type") ?? "")) return response;
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (bytes[0] === colon) onComment();
      controller.enqueue(bytes);
    },
  });
  return new Response(body.pipeThrough(watched), { headers, status });
}
