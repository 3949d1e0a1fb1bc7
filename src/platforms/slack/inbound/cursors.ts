/**
 * Tracks how far each conversation has been received: every message before its cursor is stored. `heard` keeps
 * the cursor before a message until `kept`. While messages may be missing, `hold` keeps it in place until `release`.
 * All cursors are one value in the store, saved shortly after each change, so after a crash some messages are handled
 * again, harmlessly.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Store } from "../../../ports/store.ts";

export interface Cursors {
  load(): Promise<void>;
  heard(channel: string, ts: string, thread: string | null): void;
  kept(channel: string, ts: string): void;
  /** Returns where to start fetching, if the conversation is known. */
  hold(channel: string): string | undefined;
  holdAt(channel: string, ts: string): void;
  release(channel: string): void;
  isKnown(channel: string): boolean;
  forget(channel: string): void;
  channels(): string[];
  /** Recent threads, newest first. */
  threadsOf(channel: string): string[];
  newest(): string | undefined;
  flush(): Promise<void>;
}

interface Cursor {
  newest: string;
  open: Set<string>;
  held: string | undefined;
  threads: Map<string, string>;
}

const storedSchema = z.record(z.string(), z.object({ ts: z.string(), threads: z.record(z.string(), z.string()) }));
const storeKey = "slack:cursors";
const maxChannels = 2_000;
const maxThreads = 100;
const writeAfterMs = 500;

export function createCursors(store: Store, log: Log): Cursors {
  const cursors = new Map<string, Cursor>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function changed(): void {
    timer ??= setTimeout(() => void flush(), writeAfterMs);
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing
      .then(() => store.set(storeKey, stored()))
      .catch((thrown: unknown) => log.warn({ error: messageOf(thrown) }, "could not save Slack's cursors"));
    return writing;
  }

  function stored() {
    const entries = byNewest().slice(0, maxChannels);
    return Object.fromEntries(
      entries.map(([channel, cursor]) => [
        channel,
        { ts: cursorPosition(cursor), threads: Object.fromEntries(cursor.threads) },
      ]),
    );
  }

  function byNewest(): [string, Cursor][] {
    return [...cursors].sort(([, one], [, other]) => compare(other.newest, one.newest));
  }

  function cursorOf(channel: string, ts: string): Cursor {
    const known = cursors.get(channel);
    if (known !== undefined) return known;
    const made = { newest: ts, open: new Set<string>(), held: undefined, threads: new Map<string, string>() };
    cursors.set(channel, made);
    if (cursors.size > maxChannels * 2) for (const [old] of byNewest().slice(maxChannels)) cursors.delete(old);
    return made;
  }

  return {
    async load() {
      const parsed = storedSchema.safeParse(await store.get(storeKey));
      for (const [channel, { ts, threads }] of Object.entries(parsed.data ?? {})) {
        cursors.set(channel, {
          newest: ts,
          open: new Set(),
          held: undefined,
          threads: new Map(Object.entries(threads)),
        });
      }
    },
    heard(channel, ts, thread) {
      const cursor = cursorOf(channel, ts);
      cursor.open.add(ts);
      if (compare(ts, cursor.newest) > 0) cursor.newest = ts;
      if (thread === null) return;
      cursor.threads.delete(thread);
      cursor.threads.set(thread, ts);
      const [oldest] = cursor.threads.keys();
      if (cursor.threads.size > maxThreads && oldest !== undefined) cursor.threads.delete(oldest);
    },
    kept(channel, ts) {
      cursors.get(channel)?.open.delete(ts);
      changed();
    },
    hold(channel) {
      const cursor = cursors.get(channel);
      if (cursor === undefined) return undefined;
      cursor.held = cursorPosition(cursor);
      return cursor.held;
    },
    holdAt(channel, ts) {
      cursorOf(channel, ts).held = ts;
    },
    release(channel) {
      const cursor = cursors.get(channel);
      if (cursor !== undefined) cursor.held = undefined;
      changed();
    },
    isKnown: (channel) => cursors.has(channel),
    forget(channel) {
      if (cursors.delete(channel)) changed();
    },
    channels: () => byNewest().map(([channel]) => channel),
    threadsOf: (channel) => [...(cursors.get(channel)?.threads.keys() ?? [])].reverse(),
    newest: () => byNewest()[0]?.[1].newest,
    flush,
  };
}

function cursorPosition({ newest, open, held }: Cursor): string {
  const before = [...open].map(justBefore);
  return [...before, ...(held === undefined ? [] : [held]), newest].sort(compare)[0] ?? newest;
}

function justBefore(ts: string): string {
  const [seconds = "0", fraction = "0"] = ts.split(".");
  const micros = BigInt(seconds) * 1_000_000n + BigInt(fraction) - 1n;
  return `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, "0")}`;
}

export function compare(one: string, other: string): number {
  return Number(one) - Number(other);
}
