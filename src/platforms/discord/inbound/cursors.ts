/**
 * Remembers the last processed message of each place (channel, thread or DM). A cursor advances once its message is
 * stored. Each shard has a record of its own, because only the process that holds the shard writes it. If a record is full
 * and drops a place, its `since` advances to that place's cursor: all messages before `since` count as processed. Busy
 * threads must not push out DMs, because Discord does not list those.
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
  /** Undefined for DMs, and for places that an older version has stored. */
  guild: string | undefined;
}

export interface Cursors {
  load(shard: number, count: number): Promise<void>;
  /** Writes the shard's cursors and forgets them, because another process takes the shard over. */
  unload(shard: number): Promise<void>;
  /** Aborts when the shard's cursors are unloaded. Undefined if they are not loaded. */
  unloaded(shard: number): AbortSignal | undefined;
  /** No message after the returned one has been processed. */
  readUpTo(id: string, guild: string | undefined): string;
  /** Never moves the cursor back. */
  advance(place: Omit<KnownPlace, "read">, messageId: string): void;
  known(id: string): KnownPlace | undefined;
  isOwn(threadId: string): boolean;
  markOwn(threadId: string, guild: string, messageId: string): void;
  forget(id: string): void;
  /** Least recently used first. Without a shard, of all loaded shards. */
  places(shard?: number): KnownPlace[];
  flush(): Promise<void>;
}

interface ShardRecord {
  key: string;
  since: string;
  places: Map<string, KnownPlace>;
  timer?: NodeJS.Timeout | undefined;
  writing: Promise<void>;
  unloaded: AbortController;
}

/** For DMs, and for all others together. */
const maxPlaces = 5_000;
const writeAfterMs = 200;

const placeTypes = ["channel", "thread", "own", "dm"] as const;
const snowflake = z.string().regex(/^\d{1,20}$/);
const storedSchema = z.object({
  since: snowflake,
  places: z.array(z.tuple([snowflake, z.enum(placeTypes), snowflake]).rest(snowflake)),
});
type Stored = z.infer<typeof storedSchema>;

export function createCursors(store: Store, log: Log, now: () => number = Date.now): Cursors {
  const records = new Map<number, ShardRecord>();
  let shardCount = 1;

  function recordOf(guild: string | undefined): ShardRecord | undefined {
    return records.get(shardOf(guild, shardCount));
  }

  function find(id: string): [ShardRecord, KnownPlace] | undefined {
    for (const record of records.values()) {
      const place = record.places.get(id);
      if (place !== undefined) return [record, place];
    }
    return undefined;
  }

  function put(place: KnownPlace): void {
    const record = recordOf(place.guild);
    if (record === undefined) return;
    record.places.delete(place.id);
    record.places.set(place.id, place);
    if (record.places.size > maxPlaces) dropOldest(record, isDm(place));
    changed(record);
  }

  function dropOldest(record: ShardRecord, ofDms: boolean): void {
    const alike = [...record.places.values()].filter((place) => isDm(place) === ofDms);
    for (const { id, read } of alike.slice(0, Math.max(0, alike.length - maxPlaces))) {
      record.places.delete(id);
      record.since = newerId(record.since, read);
    }
  }

  function changed(record: ShardRecord): void {
    record.timer ??= setTimeout(() => void write(record), writeAfterMs);
  }

  function write(record: ShardRecord): Promise<void> {
    clearTimeout(record.timer);
    record.timer = undefined;
    const places = [...record.places.values()].map(toStored);
    record.writing = record.writing
      .then(() => store.set(record.key, { since: record.since, places }))
      .catch((thrown: unknown) =>
        log.error(
          { error: messageOf(thrown) },
          "could not save the channel cursors; after a crash, messages are read again",
        ),
      );
    return record.writing;
  }

  async function finish(record: ShardRecord): Promise<void> {
    if (record.timer !== undefined) await write(record);
    await record.writing;
  }

  return {
    async load(shard, count) {
      const key = keyOf(shard, count);
      const found = storedSchema.safeParse(await store.get(key));
      const since = found.success ? found.data.since : snowflakeAt(now());
      const places = (found.data?.places ?? []).map(fromStored);
      const record = {
        ...{ key, since, places: new Map(places.map((each) => [each.id, each])) },
        ...{ writing: Promise.resolve(), unloaded: new AbortController() },
      };
      shardCount = count;
      records.set(shard, record);
      if (!found.success) await write(record);
    },
    async unload(shard) {
      const record = records.get(shard);
      records.delete(shard);
      record?.unloaded.abort();
      if (record !== undefined) await finish(record);
    },
    unloaded: (shard) => records.get(shard)?.unloaded.signal,
    readUpTo: (id, guild) => find(id)?.[1].read ?? recordOf(guild)?.since ?? snowflakeAt(now()),
    advance({ id, type, guild }, messageId) {
      const known = find(id)?.[1];
      const isOwn = known?.type === "own" && type === "thread";
      put({ id, type: isOwn ? "own" : type, guild, read: newerId(known?.read ?? "0", messageId) });
    },
    known: (id) => find(id)?.[1],
    isOwn: (threadId) => find(threadId)?.[1].type === "own",
    markOwn(threadId, guild, messageId) {
      put({ id: threadId, type: "own", guild, read: find(threadId)?.[1].read ?? before(messageId) });
    },
    forget(id) {
      const found = find(id);
      if (found?.[0].places.delete(id)) changed(found[0]);
    },
    places(shard) {
      const wanted = shard === undefined ? [...records.values()] : [records.get(shard)];
      return wanted.flatMap((record) => [...(record?.places.values() ?? [])]);
    },
    async flush() {
      await Promise.all([...records.values()].map(finish));
    },
  };
}

/** Sorts all cursors anew for another number of shards. No process may hold a shard meanwhile. */
export async function redistributeCursors(store: Store, from: number, to: number): Promise<void> {
  const read = async (shard: number) => storedSchema.safeParse(await store.get(keyOf(shard, from))).data;
  const old = (await Promise.all(Array.from({ length: from }, (_, shard) => read(shard)))).filter(
    (each): each is Stored => each !== undefined,
  );
  if (old.length === 0) return;
  const since = old.map((each) => each.since).reduce(newerId);
  const places = old.flatMap((each) => each.places);
  for (let shard = 0; shard < to; shard++) {
    const own = places.filter(([, type, , guild]) =>
      guild === undefined && type !== "dm" ? true : shardOf(guild, to) === shard,
    );
    await store.set(keyOf(shard, to), { since, places: own });
  }
}

/** https://discord.com/developers/docs/events/gateway#sharding-sharding-formula */
export function shardOf(guild: string | undefined, count: number): number {
  return guild === undefined ? 0 : Number((BigInt(guild) >> 22n) % BigInt(count));
}

function keyOf(shard: number, count: number): string {
  return count === 1 ? "discord:cursors" : `discord:cursors:${shard}/${count}`;
}

const isDm = ({ type }: KnownPlace) => type === "dm";

function toStored({ id, type, read, guild }: KnownPlace): string[] {
  return [id, type, read, ...(guild === undefined ? [] : [guild])];
}

function fromStored([id, type, read, guild]: Stored["places"][number]): KnownPlace {
  return { id, type, read, guild };
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
