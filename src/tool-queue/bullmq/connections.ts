/** The connections of one queue: all of them are known here, BullMQ's own copies too, so that all of them can be ended. */
import type { Cluster, Redis } from "ioredis";
import { pause } from "../../lib/backoff.ts";

export type QueueConnection = Redis | Cluster;

/**
 * Opens a connection of its own each time; the queue ends it.
 * - `queue`: adds jobs. It should reject while Redis is away: the queue tries again.
 * - `worker`: waits for Redis, however long it is away, as BullMQ asks for: `maxRetriesPerRequest: null`.
 */
export type Connect = (role: "queue" | "worker") => QueueConnection;

export interface Connections {
  open(role: "queue" | "worker"): QueueConnection;
  /** What waits for an answer is rejected. Resolves when they have ended, or would not say so. */
  end(): Promise<void>;
}

export function createConnections(connect: Connect, onError: (thrown: unknown) => void): Connections {
  const all = new Set<QueueConnection>();

  function keep(connection: QueueConnection): QueueConnection {
    all.add(connection);
    // Without a listener ioredis writes to the console.
    connection.on("error", onError);
    return connection;
  }

  return {
    open(role) {
      const connection = keep(connect(role));
      const copy = connection.duplicate.bind(connection) as (...args: unknown[]) => QueueConnection;
      return Object.assign(connection, { duplicate: (...args: unknown[]) => keep(copy(...args)) });
    },
    async end() {
      await Promise.all([...all].map(ended));
    },
  };
}

const longestEndMs = 1_000;

/** A connection that is ended twice, the second time while it still ends, keeps the process alive for its time-out. */
async function ended(connection: QueueConnection): Promise<void> {
  if (connection.status === "end") return;
  const late = new AbortController();
  const end = new Promise<void>((resolve) => connection.once("end", () => resolve()));
  // Between two tries to connect a client can't be ended: it would never say so, and BullMQ would wait for that for ever.
  if (connection.status === "reconnecting") connection.connect().catch(() => undefined);
  connection.disconnect();
  await Promise.race([end, pause(longestEndMs, late.signal)]);
  late.abort();
}
