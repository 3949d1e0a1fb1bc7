/**
 * Tracks how far each conversation has been received: every message before its cursor is stored. `heard` keeps
 * the cursor before a message until `kept`. While messages may be missing, `hold` keeps it in place until `release`.
 * All cursors are one value in the store, saved shortly after each change, so after a crash some messages are handled
 * again, harmlessly. Processes that share the store merge their changes under a lock: each conversation's newest wins, and
 * a process that is behind it keeps its own position beside it. A process that starts later takes those positions over.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Lease, WithLock } from "../../../ports/cluster.ts";
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
  /**
   * Everything before this has been received in at least one conversation, or was written before Remora first started.
   * Undefined in the first process, until it has received a message.
   */
  newest(): string | undefined;
  /** Never rejects; `save` does. */
  flush(): Promise<void>;
  save(): Promise<void>;
}

interface Cursor {
  newest: string;
  open: Set<string>;
  held: string | undefined;
  threads: Map<string, string>;
  /** Where earlier processes were when this one started. This one has received what follows, or holds the cursor there. */
  taken: Record<string, string>;
}

const byName = z.record(z.string(), z.string());
const storedSchema = z.record(z.string(), z.object({ ts: z.string(), threads: byName, behind: byName.default({}) }));
const storeKey = "slack:cursors";
/** Where to begin if a process died before its first cursor was saved, or if the cursors are damaged. */
const startKey = "slack:start";
const maxChannels = 2_000;
const maxThreads = 100;
const writeAfterMs = 500;

type Stored = z.infer<typeof storedSchema>;

/** Without `withLock`, only this process writes. */
export function createCursors(store: Store, log: Log, withLock?: WithLock): Cursors {
  const me = randomUUID();
  const cursors = new Map<string, Cursor>();
  /** Conversations that have changed here since the last write. */
  const touched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  /** What an earlier process has saved. */
  let start: string | undefined;

  function changed(channel: string): void {
    touched.add(channel);
    timer ??= setTimeout(() => void flush(), writeAfterMs);
  }

  function save(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const saved = writing.then(() =>
      withLock === undefined ? store.set(storeKey, newestOf(shown(cursors.keys()))) : withLock(storeKey, merge),
    );
    writing = saved.catch((thrown: unknown) =>
      log.warn({ error: messageOf(thrown) }, "could not save Slack's cursors"),
    );
    return saved;
  }

  async function flush(): Promise<void> {
    await save().catch(() => {});
  }

  async function merge({ signal }: Lease): Promise<void> {
    if (touched.size === 0) return;
    const others = await read();
    const own = new Set(touched);
    touched.clear();
    try {
      for (const channel of own) if (!cursors.has(channel)) delete others[channel];
      adopt(others, own);
      signal.throwIfAborted();
      await store.set(storeKey, newestOf({ ...others, ...shown(own, others) }));
    } catch (thrown) {
      for (const channel of own) touched.add(channel);
      throw thrown;
    }
  }

  async function read(): Promise<Stored> {
    return storedSchema.safeParse(await store.get(storeKey)).data ?? {};
  }

  /** Takes over what other processes have received. */
  function adopt(stored: Stored, own: ReadonlySet<string>): void {
    for (const [channel, { ts, threads }] of Object.entries(stored)) {
      const known = cursors.get(channel)?.newest;
      if (known !== undefined && !own.has(channel) && compare(ts, known) <= 0) continue;
      const cursor = cursorOf(channel, ts);
      cursor.newest = later(cursor.newest, ts);
      const all = [...Object.entries(threads), ...cursor.threads].sort(([, one], [, other]) => compare(one, other));
      cursor.threads = new Map();
      for (const [thread, last] of all) setLast(cursor.threads, thread, last);
    }
  }

  function shown(channels: Iterable<string>, others: Stored = {}): Stored {
    const entries = [...channels].flatMap((channel) => {
      const cursor = cursors.get(channel);
      if (cursor === undefined) return [];
      const { newest: ts, threads, taken } = cursor;
      const known = Object.entries(others[channel]?.behind ?? {});
      const behind = Object.fromEntries(known.filter(([process, at]) => process !== me && taken[process] !== at));
      const position = cursorPosition(cursor);
      if (position !== ts) behind[me] = position;
      return [[channel, { ts, threads: Object.fromEntries(threads), behind }] as const];
    });
    return Object.fromEntries(entries);
  }

  /** Without this, what a process had not stored when it died would never be fetched. */
  function takeOver(stored: Stored): void {
    for (const [channel, { ts, behind }] of Object.entries(stored)) {
      const { [me]: _, ...taken } = behind;
      const [lowest] = Object.values(taken).sort(compare);
      if (lowest !== undefined) Object.assign(cursorOf(channel, ts), { taken, held: lowest });
    }
  }

  const newest = () => [...cursors.values()].map(cursorPosition).sort(compare).at(-1);

  async function moveStart(): Promise<void> {
    start = z.string().safeParse(await store.get(startKey)).data;
    const next = newest() ?? start ?? (Date.now() / 1000).toFixed(6);
    if (next !== start) await store.set(startKey, next);
  }

  function byNewest(): [string, Cursor][] {
    return [...cursors].sort(([, one], [, other]) => compare(other.newest, one.newest));
  }

  function cursorOf(channel: string, ts: string): Cursor {
    const known = cursors.get(channel);
    if (known !== undefined) return known;
    const made = {
      newest: ts,
      open: new Set<string>(),
      held: undefined,
      threads: new Map<string, string>(),
      taken: {},
    };
    cursors.set(channel, made);
    if (cursors.size > maxChannels * 2) for (const [old] of byNewest().slice(maxChannels)) cursors.delete(old);
    return made;
  }

  return {
    async load() {
      const stored = await read();
      adopt(stored, new Set());
      takeOver(stored);
      await moveStart().catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "could not save Slack's start"),
      );
    },
    heard(channel, ts, thread) {
      const cursor = cursorOf(channel, ts);
      cursor.open.add(ts);
      cursor.newest = later(cursor.newest, ts);
      if (thread !== null) setLast(cursor.threads, thread, ts);
    },
    kept(channel, ts) {
      cursors.get(channel)?.open.delete(ts);
      changed(channel);
    },
    hold(channel) {
      const cursor = cursors.get(channel);
      if (cursor === undefined) return undefined;
      cursor.held = cursorPosition(cursor);
      return cursor.held;
    },
    holdAt(channel, ts) {
      cursorOf(channel, ts).held = ts;
      changed(channel);
    },
    release(channel) {
      const cursor = cursors.get(channel);
      if (cursor !== undefined) cursor.held = undefined;
      changed(channel);
    },
    isKnown: (channel) => cursors.has(channel),
    forget(channel) {
      if (cursors.delete(channel)) changed(channel);
    },
    channels: () => byNewest().map(([channel]) => channel),
    threadsOf: (channel) => [...(cursors.get(channel)?.threads.keys() ?? [])].reverse(),
    newest: () => newest() ?? start,
    flush,
    save,
  };
}

function cursorPosition({ newest, open, held }: Cursor): string {
  const before = [...open].map(justBefore);
  return [...before, ...(held === undefined ? [] : [held]), newest].sort(compare)[0] ?? newest;
}

/** Entries with the newest positions, within the limit. */
function newestOf(stored: Stored): Stored {
  const entries = Object.entries(stored).sort(([, one], [, other]) => compare(other.ts, one.ts));
  return Object.fromEntries(entries.slice(0, maxChannels));
}

function setLast(threads: Cursor["threads"], thread: string, ts: string): void {
  threads.delete(thread);
  threads.set(thread, ts);
  const [oldest] = threads.keys();
  if (threads.size > maxThreads && oldest !== undefined) threads.delete(oldest);
}

export function later(one: string, other: string): string {
  return compare(one, other) > 0 ? one : other;
}

export function earlier(one: string, other: string): string {
  return compare(one, other) < 0 ? one : other;
}

function justBefore(ts: string): string {
  const [seconds = "0", fraction = "0"] = ts.split(".");
  const micros = BigInt(seconds) * 1_000_000n + BigInt(fraction) - 1n;
  return `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, "0")}`;
}

export function compare(one: string, other: string): number {
  return Number(one) - Number(other);
}
