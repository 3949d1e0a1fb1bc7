/** Connects by streamable HTTP, or by server-sent events to older servers. Aborts huge answers and slows floods. */
import { setTimeout as pause } from "node:timers/promises";
import {
  type FetchLike,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { createPace } from "./pace.ts";
import type { AddressServer } from "./settings.ts";

/** Limit for one message, as for programs (program.ts). */
const maxMessageBytes = 10 * 1024 * 1024;
const newline = 10;
const carriageReturn = 13;

export function addressTransports({ url, headers, type }: AddressServer): (() => Transport)[] {
  const options = { fetch: boundedFetch, requestInit: { headers } };
  const streamable = () =>
    new StreamableHTTPClientTransport(new URL(url), {
      ...options,
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 5,
      },
    });
  const events = () => new SSEClientTransport(new URL(url), options);
  if (type === undefined) return [streamable, events];
  return type === "sse" ? [events] : [streamable];
}

const boundedFetch: FetchLike = async (url, init) => {
  // The SDK follows what stays on the server, and no transport may do so by itself: the headers would go along.
  const response = await fetch(url, { ...init, redirect: "manual" });
  if (response.body === null || !response.ok) return response;
  const { status, statusText, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  return new Response(response.body.pipeThrough(createLimit(isStream)), { status, statusText, headers });
};

function createLimit(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  const pace = createPace();
  let bytes = 0;
  let last = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      let messages = 0;
      bytes += chunk.length;
      for (const [index, byte] of isStream ? chunk.entries() : []) {
        if (byte === newline && last === newline) {
          bytes = chunk.length - index;
          messages += 1;
        }
        if (byte !== carriageReturn) last = byte;
      }
      if (bytes > maxMessageBytes) throw new Error(`its answer is longer than ${maxMessageBytes} bytes`);
      controller.enqueue(chunk);
      const wait = pace(chunk.length, messages);
      if (wait > 0) await pause(wait);
    },
  });
}
