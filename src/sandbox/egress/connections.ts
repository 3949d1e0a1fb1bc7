/** Records each connection and forwarded request of a command. */
import type { Socket } from "node:net";

/**
 * `not-public` is a host in a private network or on this machine. `certificate` is a TLS failure on either side.
 * `wrong-name` is a TLS server name other than the host, and `no-name` is none. `silent` is a tunnel in which nothing was said.
 * `closed` means that the command or its proxy ended.
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
  | "no-name"
  | "silent"
  | "bad-request"
  | "failed"
  | "closed";

export interface EgressConnection {
  /** The host as the command named it, up to 300 characters. Untrusted, so escape it wherever it is shown. */
  host: string;
  /** 0 if the command named no port. */
  port: number;
  address?: string;
  startedAt: number;
  durationMs: number;
  /** Bytes on the network, including TLS overhead. */
  bytesOut: number;
  bytesIn: number;
  outcome: EgressOutcome;
}

export interface OpenConnection {
  /** Counts the bytes on the socket to the server. */
  watch(socket: Socket, address: string): void;
  /** Only the first call has an effect. */
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
