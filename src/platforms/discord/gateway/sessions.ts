/**
 * Gateway sessions in the store, one record per shard. The next process resumes the session, and Discord sends what happened
 * in between. The stored sequence number is that of an event before which everything is safe, so it may be old: Discord then
 * sends some events again, and the inbox knows their messages.
 */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { Store } from "../../../ports/store.ts";

const sessionSchema = z.object({
  sessionId: z.string(),
  resumeURL: z.string(),
  sequence: z.number(),
  shardId: z.number(),
  shardCount: z.number(),
  /** Number of servers of the shard. */
  guilds: z.number(),
  bot: z.object({ id: z.string(), name: z.string(), applicationId: z.string() }),
});

export type StoredSession = z.infer<typeof sessionSchema>;

export interface SessionWriter {
  /** Writes another session at once, and a newer sequence number soon. Undefined deletes it. */
  keep(session: StoredSession | undefined): void;
  /** Writes what is pending. Nothing is written afterwards, because another process may have the session. */
  close(): Promise<void>;
}

export interface Sessions {
  load(shard: number, count: number): Promise<StoredSession | undefined>;
  /** Continues with `loaded`. */
  writer(shard: number, loaded: StoredSession | undefined): SessionWriter;
}

const writeAfterMs = 1_000;
const keyOf = (shard: number) => `discord:session:${shard}`;

export function createSessions(store: Store, log: Log): Sessions {
  /** The ids of the sessions in the store, as far as this process knows. */
  const storedIds = new Map<number, string | undefined>();
  /** Sessions of shards that were given up while the store was away. */
  const unsaved = new Map<number, StoredSession | undefined>();

  function writer(shard: number, loaded: StoredSession | undefined): SessionWriter {
    let wanted = loaded;
    let written = unsaved.has(shard) ? undefined : textOf(loaded);
    unsaved.delete(shard);
    let timer: NodeJS.Timeout | undefined;
    let writing = Promise.resolve();
    let isClosed = false;

    async function write(): Promise<void> {
      const [session, text] = [wanted, textOf(wanted)];
      if (text === written) return;
      try {
        await (session === undefined ? store.delete(keyOf(shard)) : store.set(keyOf(shard), session));
        written = text;
        storedIds.set(shard, session?.sessionId);
      } catch (thrown) {
        log.warn({ shard, error: messageOf(thrown) }, "could not save a gateway session");
      }
    }

    function flush(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      writing = writing.then(write);
      return writing;
    }

    return {
      keep(session) {
        if (isClosed) return;
        const isAnother = session?.sessionId !== wanted?.sessionId;
        wanted = session;
        if (isAnother) void flush();
        else timer ??= setTimeout(() => void flush(), writeAfterMs);
      },
      async close() {
        isClosed = true;
        await flush();
        if (textOf(wanted) !== written) unsaved.set(shard, wanted);
      },
    };
  }

  return {
    async load(shard, count) {
      const found = sessionSchema.safeParse(await store.get(keyOf(shard))).data;
      // If another process had the shard in between, the store has its session.
      const isOurs = unsaved.has(shard) && storedIds.get(shard) === found?.sessionId;
      if (!isOurs) unsaved.delete(shard);
      storedIds.set(shard, found?.sessionId);
      const session = isOurs ? unsaved.get(shard) : found;
      return session?.shardCount === count ? session : undefined;
    },
    writer,
  };
}

function textOf(session: StoredSession | undefined): string {
  return JSON.stringify(session) ?? "";
}
