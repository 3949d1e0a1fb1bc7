/** One record per connection or forwarded request of a command. */
import type { Socket } from "node:net";

/**
 * - `not-public`: the host's address is in a private network or on this machine
 * - `certificate`: TLS failed, with the client or with the server
 * - `wrong-name`: the TLS client asked for a different host than the one it connected to
 * - `failed`: interrupted
 * - `closed`: closed because the command or its proxy ended
 */
export type EgressOutcome =
  | "open"
  | "ended"
  | "not-approved"
  | "not-public"
  | "unresolved"
  | "unreachable"
  | "certificate"
  | "wrong-name"
  | "bad-request"
  | "failed"
  | "closed";

export interface EgressConnection {
  /** As the command named it, at most 300 characters. Untrusted: escape it wherever you show it. */
  host: string;
  /** 0 if the command named no port. */
  port: number;
  address?: string;
  startedAt: number;
  durationMs: number;
  /** Bytes on the network, including those of TLS itself. */
  bytesOut: number;
  bytesIn: number;
  outcome: EgressOutcome;
}

export interface OpenConnection {
  /** Sets the socket to the server, whose bytes are counted. */
  watch(socket: Socket, address: string): void;
  /** Only the first call counts. */
  end(outcome: Exclude<EgressOutcome, "open">): void;
}

export interface ConnectionRecords {
  begin(host: string, port: number): OpenConnection;
  list(): EgressConnection[];
  count(): number;
  totalBytes(): number;
  close(): void;
}

const maxHostNameCharacters = 300;

/** Calls `log` once per connection, when it ends. `log` must not throw. */
export function createConnectionRecords(log: (connection: EgressConnection) => void): ConnectionRecords {
  const records: EgressConnection[] = [];
  const open = new Map<OpenConnection, () => void>();
  let endedBytes = 0;

  function begin(host: string, port: number): OpenConnection {
    const startedAt = Date.now();
    const name = host.slice(0, maxHostNameCharacters);
    const record: EgressConnection = {
      ...{ host: name, port, startedAt, durationMs: 0 },
      ...{ bytesOut: 0, bytesIn: 0, outcome: "open" },
    };
    records.push(record);
    let socket: Socket | undefined;
    const measure = () => {
      record.durationMs = Date.now() - startedAt;
      record.bytesOut = socket?.bytesWritten ?? 0;
      record.bytesIn = socket?.bytesRead ?? 0;
    };
    const connection: OpenConnection = {
      watch(watched, address) {
        socket = watched;
        record.address = address;
      },
      end(outcome) {
        if (!open.delete(connection)) return;
        measure();
        record.outcome = outcome;
        endedBytes += record.bytesOut + record.bytesIn;
        log({ ...record });
      },
    };
    open.set(connection, measure);
    return connection;
  }

  function measureOpen(): void {
    for (const measure of open.values()) measure();
  }

  return {
    begin,
    count: () => records.length,
    list() {
      measureOpen();
      return records.map((record) => ({ ...record }));
    },
    totalBytes() {
      measureOpen();
      const openBytes = records.reduce((sum, { outcome, bytesIn, bytesOut }) => {
        return outcome === "open" ? sum + bytesIn + bytesOut : sum;
      }, 0);
      return endedBytes + openBytes;
    },
    close() {
      for (const connection of [...open.keys()]) connection.end("closed");
    },
  };
}
