/** In-memory leases and bus, for a single process. */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Bus, BusMessage, Leases } from "../ports/cluster.ts";

export function createInMemoryLeases(): Leases {
  const held = new Set<string>();
  return {
    async acquire(name) {
      if (held.has(name)) return undefined;
      held.add(name);
      return { signal: new AbortController().signal, release: async () => void held.delete(name) };
    },
    close: async () => held.clear(),
  };
}

/** Calls listeners in the same tick. If one throws, the bus logs the error and calls the others. */
export function createInMemoryBus(log: Log): Bus {
  const listeners = new Set<(message: BusMessage) => void>();
  return {
    publish(message) {
      for (const listener of [...listeners]) {
        try {
          listener(message);
        } catch (thrown) {
          log.error({ error: messageOf(thrown), type: message.type }, "a bus listener failed");
        }
      }
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => listeners.clear(),
  };
}
