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

const writeAfterMs = 1_000;
const keyOf = (shard: number) => `discord:session:${shard}`;

export async function loadSession(store: Store, shard: number, count: number): Promise<StoredSession | undefined> {
  const found = sessionSchema.safeParse(await store.get(keyOf(shard)));
  return found.data?.shardCount === count ? found.data : undefined;
}

export function createSessionWriter(store: Store, shard: number, log: Log): SessionWriter {
  let wanted: StoredSession | undefined;
  let written = "";
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  let isClosed = false;

  async function write(): Promise<void> {
    const text = JSON.stringify(wanted) ?? "";
    if (text === written) return;
    try {
      await (wanted === undefined ? store.delete(keyOf(shard)) : store.set(keyOf(shard), wanted));
      written = text;
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
    close() {
      isClosed = true;
      return flush();
    },
  };
}
