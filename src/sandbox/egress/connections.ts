/** What a command did on the network: one record for each connection or forwarded request, with its bytes and its end. */
import type { Socket } from "node:net";

/**
 * - `open`: still going on
 * - `ended`: came to its end, whatever the server answered
 * - `not-approved`: no approved host and port
 * - `not-public`: an address inside a private network or machine
 * - `unresolved`, `unreachable`: no such host, or no connection to it
 * - `certificate`: TLS failed on one of the two sides
 * - `wrong-name`: the TLS client asked for another host than the one it connected to
 * - `bad-request`: not a request that can be forwarded
 * - `failed`: broke off
 * - `closed`: cut off, because the command or its proxy ended
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
  /** As the command named it; at most 300 characters. The command chooses it freely: escape it wherever it is shown. */
  host: string;
  /** 0 where the command named none. */
  port: number;
  /** The address that was connected to; absent where none was. */
  address?: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** On the wire, with TLS. */
  bytesOut: number;
  bytesIn: number;
  outcome: EgressOutcome;
}

/** One connection while it goes on. */
export interface OpenConnection {
  /** The connection to the server, whose bytes count. */
  watch(socket: Socket, address: string): void;
  /** The first outcome counts. Later calls do nothing. */
  end(outcome: Exclude<EgressOutcome, "open">): void;
}

export interface ConnectionRecords {
  begin(host: string, port: number): OpenConnection;
  /** Copies, in the order in which they began. */
  list(): EgressConnection[];
  count(): number;
  totalBytes(): number;
  /** Ends all that are open as `closed`. */
  close(): void;
}

const maxShownHostCharacters = 300;

/** `log` is called once for each connection, at its end. It must not throw. */
export function createConnectionRecords(log: (connection: EgressConnection) => void): ConnectionRecords {
  const records: EgressConnection[] = [];
  const open = new Map<OpenConnection, () => void>();
  let endedBytes = 0;

  function begin(host: string, port: number): OpenConnection {
    const startedAt = Date.now();
    const name = host.slice(0, maxShownHostCharacters);
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
