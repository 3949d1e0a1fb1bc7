/**
 * Up to which message each channel, thread and DM is done with, so that after any time away nothing is missed and nothing is read
 * twice: `read` is set only after a message was durably kept.
 *
 * A bounded map in the store. It begins with the moment of the first start; a place that is let go of moves that beginning up to where
 * it stood, so that what is not in the map was done with before. Written a moment after a change, never before it.
 */

import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Store } from "../../../ports/store.ts";

/** `own`: a thread in which the bot was addressed. */
export type PlaceType = "channel" | "thread" | "own" | "dm";

export interface KnownPlace {
  id: string;
  type: PlaceType;
  /** The newest message that is done with. */
  read: string;
}

export interface Cursors {
  load(): Promise<void>;
  /** The message after which nothing of a place is done with. */
  readUpTo(id: string): string;
  /** Only ever forward. */
  advance(id: string, type: PlaceType, messageId: string): void;
  isOwn(threadId: string): boolean;
  markOwn(threadId: string, messageId: string): void;
  forget(id: string): void;
  /** Those used last come last. */
  places(): KnownPlace[];
  /** Writes what is not written yet. */
  flush(): Promise<void>;
}

const storeKey = "discord:cursors";
const mostPlaces = 2_000;
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
      if (places.size <= mostPlaces) break;
      places.delete(id);
      since = newerOf(since, oldest.read);
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
      put({ id, type: isOwn ? "own" : type, read: newerOf(known?.read ?? "0", messageId) });
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

/** 2015, when Discord's time begins. */
const epochMs = 1_420_070_400_000;

/** The id that a message of this moment would have at least. */
export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, ms - epochMs)) << 22n);
}

export function newerOf(one: string, other: string): string {
  return BigInt(one) > BigInt(other) ? one : other;
}

function before(id: string): string {
  return String(BigInt(id) - 1n);
}
