/**
 * What several processes on one ledger need of each other: leases, so that a conversation is worked on in one place, and a
 * bus, so that nobody has to wait for the next sweep. Both are for speed and order; what must hold holds by the ledger.
 */
import type { AbortCause } from "../lib/abort.ts";

/** A name that this process alone holds, for as long as it renews it. */
export interface Lease {
  /** Aborts when it can't be renewed any more: from then on somebody else may hold it. */
  signal: AbortSignal;
  /** Never rejects; what can't be given back now expires by itself. */
  release(): Promise<void>;
}

export interface Leases {
  /**
   * At most one holder over all processes. Undefined when it is held, in this process too. Renewed until it is released;
   * it expires by itself within `lockMs` (the implementation's) after its process has gone. Rejects when the service is away.
   */
  acquire(name: string): Promise<Lease | undefined>;
  /** Releases everything. */
  close(): Promise<void>;
}

/**
 * - `work`: something waits in the conversation; with `turnId` that turn goes on before anything new.
 * - `abort`: the turn, or whatever runs in the conversation, is to end now; the ledger says so too.
 * - `cancel-job`: a tool call is to be stopped, wherever it runs.
 * - `changed`: a ledger entry that somebody may wait for has changed.
 */
export type BusMessage =
  | { type: "work"; conversationId: string; turnId?: string }
  | { type: "abort"; conversationId: string; turnId?: string; cause: AbortCause }
  | { type: "cancel-job"; jobId: string; cause: AbortCause }
  | { type: "changed"; kind: string; id: string };

export interface Bus {
  /** Reaches every process, this one too, at most once each; never throws. It may get lost, so whoever listens also sweeps. */
  publish(message: BusMessage): void;
  /** Returns the way to stop hearing. */
  listen(listener: (message: BusMessage) => void): () => void;
  close(): Promise<void>;
}

/** Runs `work` while nobody else, in any process, runs any under this name. */
export type WithLock = <T>(name: string, work: () => Promise<T>) => Promise<T>;
