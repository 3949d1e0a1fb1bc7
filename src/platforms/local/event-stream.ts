/**
 * Streams live updates as Server-Sent Events. The event id is the revision, so a browser resumes from `Last-Event-ID`.
 * There is no queue: a stream reads what changed since its last revision, so a slow reader gets only the newest states, and
 * the server ends one that has stalled. From time to time, or when others need its place, a stream asks its page to open
 * another: a tunnel goes on reading when the page behind it has vanished, so nothing else would tell.
 */
import type { IncomingMessage } from "node:http";
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
/** Read at once, so that many streams that wait for their readers hold little. */
const changesAtOnce = 20;
const maxLifetimeMs = 15 * 60_000;
/** If all places are taken, the oldest stream gives up its own after this time. */
const minLifetimeMs = 60_000;

const tooMany = `Too many pages are open (${maxEventStreams}). Close some, or try again later.`;

interface OpenStream {
  since: number;
  renew: AbortController;
}

export function createEventStreams(store: ChatStore, signal: AbortSignal) {
  /** Oldest first. */
  const open = new Set<OpenStream>();

  /** False if all places are taken by streams that have just begun. */
  function makeRoom(): boolean {
    const [oldest] = open;
    if (open.size < maxEventStreams || oldest === undefined) return true;
    if (performance.now() - oldest.since < minLifetimeMs) return false;
    oldest.renew.abort();
    return open.delete(oldest);
  }

  return (context: Context, person: string, since: number): Response => {
    if (!makeRoom()) return context.json({ error: tooMany }, 429);
    // Stop proxies and browsers from buffering the stream.
    context.header("X-Accel-Buffering", "no");
    const own = { since: performance.now(), renew: new AbortController() };
    open.add(own);
    const timer = setTimeout(() => own.renew.abort(), maxLifetimeMs);
    const { socket } = (context.env as { incoming: IncomingMessage }).incoming;
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      stream.onAbort(() => ended.abort());
      // An answer that waits behind another one of its connection is never told that this has closed.
      const end = () => stream.abort();
      socket.once("close", end);
      if (socket.destroyed) end();
      const closed = AbortSignal.any([ended.signal, signal]);
      try {
        await sendChanges(stream, { store, person, since, closed, renew: own.renew.signal });
      } finally {
        open.delete(own);
        clearTimeout(timer);
        socket.off("close", end);
      }
    });
  };
}

interface ChangeStream {
  store: ChatStore;
  person: string;
  since: number;
  closed: AbortSignal;
  /** The page is to open another stream. */
  renew: AbortSignal;
}

async function sendChanges(
  stream: SSEStreamingApi,
  { store, person, since, closed, renew }: ChangeStream,
): Promise<void> {
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
    const changes = store.changes(person, revision, changesAtOnce);
    for (const message of changes) {
      if (closed.aborted) return;
      await stream.writeSSE({ event: "message", id: `${message.revision}`, data: JSON.stringify(message) });
      revision = message.revision;
      spokeAt = Date.now();
    }
    if (Date.now() - spokeAt >= heartbeatMs) {
      await stream.writeSSE({ event: "ping", data: "" });
      spokeAt = Date.now();
    }
    if (renew.aborted) {
      await stream.writeSSE({ event: "renew", data: "" });
      return;
    }
    if (changes.length < changesAtOnce) await changed;
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
