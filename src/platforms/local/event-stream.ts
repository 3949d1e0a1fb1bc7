/**
 * Streams live updates as Server-Sent Events. The event id is the revision, so a browser resumes from `Last-Event-ID`.
 * There is no queue: a stream reads what changed since its last revision, so a slow reader gets only the newest states.
 */
import type { Context } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import type { ChatMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { maxEventStreams } from "./limits.ts";

/** Polling finds changes that other processes make. */
const pollMs = 250;
/** Partial answers, and what people write, are collected for this long: about one frame of a screen. */
const collectMs = 16;
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
  }
}

/** Call this before reading so that no change is missed. */
function nextChange(store: ChatStore, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let timer = setTimeout(done, pollMs);
    let isCollecting = false;
    const stopListening = store.onChange((message) => {
      if (isAwaited(message)) return done();
      if (isCollecting) return;
      isCollecting = true;
      clearTimeout(timer);
      timer = setTimeout(done, collectMs);
    });
    function done(): void {
      clearTimeout(timer);
      stopListening();
      closed.removeEventListener("abort", done);
      resolve();
    }
    closed.addEventListener("abort", done, { once: true });
  });
}

/** People wait for answers and cards. Their own messages are on their screen already. */
function isAwaited({ author, state }: ChatMessage): boolean {
  return author.isBot && state !== "streaming";
}
