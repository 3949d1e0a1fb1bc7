/**
 * Streams live updates as Server-Sent Events. The event id is the revision, so a browser resumes from `Last-Event-ID`.
 * There is no queue: a stream reads what changed since its last revision, so a slow reader gets only the newest states.
 */
import { setImmediate } from "node:timers/promises";
import type { Context } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import type { ChatStore } from "./chat-store.ts";
import { maxEventStreams } from "./limits.ts";

/** Polling finds changes that other processes make. */
const pollMs = 250;
const heartbeatMs = 15_000;
/** A page further behind must reload, and so must a page that is ahead, because the chat was replaced. */
const maxCatchUpChanges = 500;

const tooMany = `Too many pages are open (${maxEventStreams}). Close some, or try again later.`;

export function createEventStreams(store: ChatStore, signal: AbortSignal) {
  let open = 0;
  return (context: Context, person: string, since: number): Response => {
    if (open >= maxEventStreams) return context.json({ error: tooMany }, 429);
    // Stop proxies and browsers from buffering the stream.
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

interface ChangeStream {
  store: ChatStore;
  person: string;
  since: number;
  closed: AbortSignal;
}

async function sendChanges(stream: SSEStreamingApi, { store, person, since, closed }: ChangeStream): Promise<void> {
  let revision = since;
  let spokeAt = Date.now();
  let listsVersion = -1;
  await stream.writeSSE({ event: "hello", data: "", retry: 1000 });
  if (closed.aborted) return;
  const isOther = since > store.revision();
  if (isOther || store.changes(person, revision, maxCatchUpChanges + 1).length > maxCatchUpChanges) {
    await stream.writeSSE({ event: "reset", data: "", id: `${store.revision()}` });
    return;
  }
  while (!closed.aborted) {
    const changed = nextChange(store, closed);
    if (store.listsVersion() !== listsVersion) {
      listsVersion = store.listsVersion();
      const lists = { people: store.people(), channels: store.channels.names() };
      await stream.writeSSE({ event: "lists", data: JSON.stringify(lists) });
    }
    for (const message of store.changes(person, revision, maxCatchUpChanges)) {
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
    // Collect what changes in this turn of the event loop.
    await setImmediate();
  }
}

/** Call this before reading so that no change is missed. */
function nextChange(store: ChatStore, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopListening();
      closed.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, pollMs);
    const stopListening = store.onChange(done);
    closed.addEventListener("abort", done, { once: true });
  });
}
