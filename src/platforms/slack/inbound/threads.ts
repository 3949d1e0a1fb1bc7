/** Threads where messages need no mention, because the agent was mentioned or has posted. Shared by all processes. */
import { createLruMap } from "../../../lib/lru-map.ts";
import type { Store } from "../../../ports/store.ts";

export interface Threads {
  has(channel: string, thread: string): Promise<boolean>;
  join(channel: string, thread: string): Promise<void>;
  /** Call it if a message of this thread had to be posted outside it: what people do with it belongs to the thread. */
  moved(channel: string, ts: string, thread: string | null): Promise<void>;
  /** The thread to which a message belongs that stands outside it; null if that is the channel. Undefined if it was not moved. */
  ofMoved(channel: string, ts: string): Promise<string | null | undefined>;
}

const maxCachedThreads = 5_000;
const keptMs = 90 * 86_400_000;

export function createThreads(store: Store): Threads {
  const known = createLruMap<true>(maxCachedThreads);

  return {
    async has(channel, thread) {
      const key = threadKey(channel, thread);
      if (known.get(key)) return true;
      if ((await store.get(key)) === undefined) return false;
      known.set(key, true);
      return true;
    },
    moved: async (channel, ts, thread) => await store.set(movedKey(channel, ts), thread ?? "", keptMs),
    async ofMoved(channel, ts) {
      const thread = await store.get(movedKey(channel, ts));
      return typeof thread === "string" ? thread || null : undefined;
    },
    async join(channel, thread) {
      const key = threadKey(channel, thread);
      if (known.has(key)) return;
      await store.set(key, true, keptMs);
      known.set(key, true);
    },
  };
}

function movedKey(channel: string, ts: string): string {
  return `slack:moved:${channel}:${ts}`;
}

function threadKey(channel: string, thread: string): string {
  return `slack:thread:${channel}:${thread}`;
}
