/** The connections of one queue: all of them are known here, BullMQ's own copies too, so that all of them can be ended. */
import type { Cluster, Redis } from "ioredis";

export type QueueConnection = Redis | Cluster;

/**
 * Opens a connection of its own each time; the queue ends it.
 * - `queue`: adds jobs. It should reject while Redis is away: the queue tries again.
 * - `worker`: waits for Redis, however long it is away, as BullMQ asks for: `maxRetriesPerRequest: null`.
 */
export type Connect = (role: "queue" | "worker") => QueueConnection;

export interface Connections {
  open(role: "queue" | "worker"): QueueConnection;
  /** At once; what waits for an answer is rejected. */
  end(): void;
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
    end() {
      for (const connection of all) connection.disconnect();
    },
  };
}
