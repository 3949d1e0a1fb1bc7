/**
 * Coordinates several processes that share one ledger: leases let only one process work on a conversation, and a bus wakes
 * processes before their next sweep. Both serve speed and order; only the ledger guarantees correctness.
 */
import type { AbortCause } from "../lib/abort.ts";

/** A name that only this process holds while it renews the lease. */
export interface Lease {
  /** Aborts when renewal fails; another process may hold the name from then on. */
  signal: AbortSignal;
  /** Never rejects. A lease that can't be released expires automatically. */
  release(): Promise<void>;
}

export interface Leases {
  /**
   * Acquires the lease of a name. Resolves to undefined if any process already holds it, even this one. The lease is renewed
   * until it is released, and expires within the implementation's `lockMs` after its process died. Rejects if the service is
   * unreachable.
   */
  acquire(name: string): Promise<Lease | undefined>;
  close(): Promise<void>;
}

/** `work` with a `turnId` resumes that turn before new ones start. An `abort` is also in the ledger. */
export type BusMessage =
  | { type: "work"; conversationId: string; turnId?: string }
  | { type: "abort"; conversationId: string; turnId?: string; cause: AbortCause }
  | { type: "cancel-job"; jobId: string; cause: AbortCause }
  | { type: "changed"; kind: string; id: string };

export interface Bus {
  /**
   * Sends the message to every process, including this one, at most once. Never throws. Messages can get lost, so listeners
   * must also poll.
   */
  publish(message: BusMessage): void;
  listen(listener: (message: BusMessage) => void): () => void;
  close(): Promise<void>;
}

/** Runs `work` under a lock that excludes all other work with this name, in every process. */
export type WithLock = <T>(name: string, work: () => Promise<T>) => Promise<T>;
