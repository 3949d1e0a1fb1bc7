/**
 * Coordination of several processes on one ledger: leases, so that one process works on a conversation, and a bus, so that
 * nobody waits for the next sweep. Both serve speed and order; only the ledger guarantees correctness.
 */
import type { AbortCause } from "../lib/abort.ts";

/** A name that only this process holds while it renews the lease. */
export interface Lease {
  /** Aborts when renewal fails; another process may hold the name from then on. */
  signal: AbortSignal;
  /** Never rejects. A lease that can't be released expires by itself. */
  release(): Promise<void>;
}

export interface Leases {
  /**
   * At most one holder over all processes; undefined when the name is held, even by this process. Renewed until released, and
   * expires within the implementation's `lockMs` after its process died. Rejects when the service is unreachable.
   */
  acquire(name: string): Promise<Lease | undefined>;
  close(): Promise<void>;
}

/** `work` with `turnId`: that turn resumes before anything new. `abort`: the ledger has this request too. */
export type BusMessage =
  | { type: "work"; conversationId: string; turnId?: string }
  | { type: "abort"; conversationId: string; turnId?: string; cause: AbortCause }
  | { type: "cancel-job"; jobId: string; cause: AbortCause }
  | { type: "changed"; kind: string; id: string };

export interface Bus {
  /** Reaches every process, including this one, at most once. Never throws. Messages can get lost, so listeners must also poll. */
  publish(message: BusMessage): void;
  listen(listener: (message: BusMessage) => void): () => void;
  close(): Promise<void>;
}

/** Runs `work` under a lock that excludes all other work with this name, in every process. */
export type WithLock = <T>(name: string, work: () => Promise<T>) => Promise<T>;
