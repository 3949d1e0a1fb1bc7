/** Threads where messages need no mention, because the agent was mentioned or has posted. Shared by all processes. */
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
      const key = threadKey(channel, thread);
      if (known.get(key)) return true;
      if ((await store.get(key)) === undefined) return false;
      known.set(key, true);
      return true;
    },
    async join(channel, thread) {
      const key = threadKey(channel, thread);
      if (known.has(key)) return;
      await store.set(key, true, keptMs);
      known.set(key, true);
    },
  };
}

function threadKey(channel: string, thread: string): string {
  return `slack:thread:${channel}:${thread}`;
}
