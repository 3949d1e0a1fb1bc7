/** Tracks all connections of one queue, including BullMQ's own copies, and closes them all. */
import type { Cluster, Redis } from "ioredis";
import { pause } from "../../lib/backoff.ts";

export type QueueConnection = Redis | Cluster;

/**
 * Opens a new connection, which the queue closes. A `queue` connection should reject commands while Redis is
 * unreachable, because the queue retries them. A `worker` connection waits forever: BullMQ requires
 * `maxRetriesPerRequest: null`.
 */
export type Connect = (role: "queue" | "worker") => QueueConnection;

export interface Connections {
  open(role: "queue" | "worker"): QueueConnection;
  /** Rejects pending commands. Resolves when all connections are closed, or after a timeout. */
  end(): Promise<void>;
}

export function createConnections(connect: Connect, onError: (thrown: unknown) => void): Connections {
  const all = new Set<QueueConnection>();

  function keep(connection: QueueConnection): QueueConnection {
    all.add(connection);
    // Without a listener, ioredis would write errors to the console.
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

const maxEndMs = 1_000;

/** Closes a connection only if it is open, because a second close would keep the process alive until a timeout. */
async function ended(connection: QueueConnection): Promise<void> {
  if (connection.status === "end") return;
  const late = new AbortController();
  const end = new Promise<void>((resolve) => connection.once("end", () => resolve()));
  // Connect first: a client closed between two connection attempts never reports it, and BullMQ would wait forever.
  if (connection.status === "reconnecting") connection.connect().catch(() => undefined);
  connection.disconnect();
  await Promise.race([end, pause(maxEndMs, late.signal)]);
  late.abort();
}
