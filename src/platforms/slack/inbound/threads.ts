/**
 * The threads that the agent is in: it was mentioned there, or has posted. What is said in them is for it, without a mention.
 *
 * Kept in the store, a key each, so that every process knows them and a restart forgets none; at hand for those of late.
 */

import { createLruMap } from "../../../lib/lru-map.ts";
import type { Store } from "../../../ports/store.ts";

export interface Threads {
  has(channel: string, thread: string): Promise<boolean>;
  join(channel: string, thread: string): Promise<void>;
}

const maxCachedThreads = 5_000;
const keptMs = 90 * 86_400_000;

export function createThreads(store: Store): Threads {
  const known = createLruMap<true>(maxCachedThreads);

  return {
    async has(channel, thread) {
      const key = keyOf(channel, thread);
      if (known.get(key)) return true;
      if ((await store.get(key)) === undefined) return false;
      known.set(key, true);
      return true;
    },
    async join(channel, thread) {
      const key = keyOf(channel, thread);
      if (known.has(key)) return;
      await store.set(key, true, keptMs);
      known.set(key, true);
    },
  };
}

function keyOf(channel: string, thread: string): string {
  return `slack:thread:${channel}:${thread}`;
}
