/**
 * Live updates as Server-Sent Events: every changed message that the person may see, each with its revision as event id,
 * so that a browser that lost the connection goes on where it was (Last-Event-ID).
 *
 * There is no queue: the stream asks the chat for what has changed since the last revision it sent. A slow reader gets
 * the newest states only, and what another process wrote into the same chat is seen at the next look.
 */
import type { Context } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import type { ChatStore } from "./chat-store.ts";

/** Between two looks when nobody says that something has changed. */
const lookMs = 250;
const heartbeatMs = 15_000;
/** Further behind than this, or ahead because the chat is another one, the page is told to load everything anew. */
const catchUpLimit = 500;

/** At once, of the one token that the page has. Each looks at the chat several times a second; the process must stay responsive. */
const maxEventStreams = 100;
const tooMany = `Too many pages are open (${maxEventStreams}). Close some, or try again later.`;

/** Answers 429 above the limit; pages try again by themselves. */
export function createEventStreams(store: ChatStore, signal: AbortSignal) {
  let open = 0;
  return (context: Context, person: string, since: number): Response => {
    if (open >= maxEventStreams) return context.json({ error: tooMany }, 429);
    // Proxies and browsers must not hold back what streams in.
    context.header("X-Accel-Buffering", "no");
    open += 1;
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      stream.onAbort(() => ended.abort());
      try {
        await sendChanges(stream, { store, person, since, closed: AbortSignal.any([ended.signal, signal]) });
      } finally {
        open -= 1;
      }
    });
  };
}

interface StreamOf {
  store: ChatStore;
  person: string;
  since: number;
  closed: AbortSignal;
}

async function sendChanges(stream: SSEStreamingApi, { store, person, since, closed }: StreamOf): Promise<void> {
  let revision = since;
  let spokeAt = Date.now();
  await stream.writeSSE({ event: "hello", data: "", retry: 1000 });
  if (closed.aborted) return;
  const isOther = since > store.revision();
  if (isOther || store.changes(person, revision, catchUpLimit + 1).length > catchUpLimit) {
    await stream.writeSSE({ event: "reset", data: "", id: `${store.revision()}` });
    return;
  }
  while (!closed.aborted) {
    const changed = nextChange(store, closed);
    for (const message of store.changes(person, revision, catchUpLimit)) {
      if (closed.aborted) return;
      await stream.writeSSE({ event: "message", id: `${message.revision}`, data: JSON.stringify(message) });
      revision = message.revision;
      spokeAt = Date.now();
    }
    if (Date.now() - spokeAt >= heartbeatMs) {
      await stream.writeSSE({ event: "ping", data: "" });
      spokeAt = Date.now();
    }
    await changed;
  }
}

/** Resolves at the next change, after `lookMs`, or when the stream is over. Listening begins before the look, so no change is missed. */
function nextChange(store: ChatStore, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopListening();
      closed.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, lookMs);
    const stopListening = store.onChange(done);
    closed.addEventListener("abort", done, { once: true });
  });
}
