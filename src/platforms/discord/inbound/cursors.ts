/**
 * Remembers the last processed message of each place (channel, thread or DM). A cursor advances once its message is
 * stored. If the map is full and drops a place, `since` advances to that place's cursor: all messages before `since`
 * count as processed.
 */

import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Store } from "../../../ports/store.ts";
import { snowflakeEpochMs } from "../limits.ts";

/** `own` marks a thread in which the bot was addressed. */
export type PlaceType = "channel" | "thread" | "own" | "dm";

export interface KnownPlace {
  id: string;
  type: PlaceType;
  read: string;
}

export interface Cursors {
  load(): Promise<void>;
  /** No message after the returned one has been processed. */
  readUpTo(id: string): string;
  /** Never moves the cursor back. */
  advance(id: string, type: PlaceType, messageId: string): void;
  isOwn(threadId: string): boolean;
  markOwn(threadId: string, messageId: string): void;
  forget(id: string): void;
  /** Least recently used first. */
  places(): KnownPlace[];
  flush(): Promise<void>;
}

const storeKey = "discord:cursors";
const maxPlaces = 5_000;
const writeAfterMs = 200;

const placeTypes = ["channel", "thread", "own", "dm"] as const;
const snowflake = z.string().regex(/^\d{1,20}$/);
const stored = z.object({
  since: snowflake,
  places: z.array(z.tuple([snowflake, z.enum(placeTypes), snowflake])),
});

export function createCursors(store: Store, log: Log, now: () => number = Date.now): Cursors {
  const places = new Map<string, KnownPlace>();
  let since = "0";
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function put(place: KnownPlace): void {
    places.delete(place.id);
    places.set(place.id, place);
    for (const [id, oldest] of places) {
      if (places.size <= maxPlaces) break;
      places.delete(id);
      since = newerId(since, oldest.read);
    }
    timer ??= setTimeout(() => void write(), writeAfterMs);
  }

  function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const value = { since, places: [...places.values()].map(({ id, type, read }) => [id, type, read]) };
    writing = writing
      .then(() => store.set(storeKey, value))
      .catch((thrown: unknown) =>
        log.error(
          { error: messageOf(thrown) },
          "could not save the channel cursors; after a crash, messages are read again",
        ),
      );
    return writing;
  }

  return {
    async load() {
      if (since !== "0") return;
      const found = stored.safeParse(await store.get(storeKey));
      since = found.success ? found.data.since : snowflakeAt(now());
      for (const [id, type, read] of found.data?.places ?? []) places.set(id, { id, type, read });
      if (!found.success) await write();
    },
    readUpTo: (id) => places.get(id)?.read ?? since,
    advance(id, type, messageId) {
      const known = places.get(id);
      const isOwn = known?.type === "own" && type === "thread";
      put({ id, type: isOwn ? "own" : type, read: newerId(known?.read ?? "0", messageId) });
    },
    isOwn: (threadId) => places.get(threadId)?.type === "own",
    markOwn(threadId, messageId) {
      put({ id: threadId, type: "own", read: places.get(threadId)?.read ?? before(messageId) });
    },
    forget(id) {
      if (places.delete(id)) timer ??= setTimeout(() => void write(), writeAfterMs);
    },
    places: () => [...places.values()],
    async flush() {
      if (timer !== undefined) await write();
      await writing;
    },
  };
}

export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, ms - snowflakeEpochMs)) << 22n);
}

export function newerId(one: string, other: string): string {
  return BigInt(one) > BigInt(other) ? one : other;
}

function before(id: string): string {
  return String(BigInt(id) - 1n);
}
