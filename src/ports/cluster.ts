/**
 * Coordinates processes that share one ledger. Leases let only one process work on a conversation; a bus wakes
 * processes before their next sweep. Both only improve speed and order: correctness depends on the ledger alone.
 */
import type { AbortCause } from "../lib/abort.ts";
import type { ChatLogChange } from "./chat-log.ts";

export interface Lease {
  /** Aborts if renewal fails. Another process may then hold the name. */
  signal: AbortSignal;
  /** Absent if only this process can hold the name. */
  fence?: Fence;
  /** Never rejects. A lease that can't be released expires automatically. */
  release(): Promise<void>;
}

/** Names a lease in a write (`Store`), so that a process that stalls after its last look at the signal can't overwrite others. */
export interface Fence {
  key: string;
  token: string;
}

export interface Leases {
  /**
   * Resolves to undefined if any process, even this one, already holds the name. If the holder dies, the lease expires
   * after the implementation's `lockMs`. Rejects if the service is unreachable.
   */
  acquire(name: string): Promise<Lease | undefined>;
  close(): Promise<void>;
}

/** `work` with a `turnId` resumes that turn before new ones start. An `abort` is also recorded in the ledger. */
export type BusMessage =
  /** `person` waits for the work. */
  | { type: "work"; conversationId: string; turnId?: string; person?: string }
  | { type: "abort"; conversationId: string; turnId?: string; cause: AbortCause }
  | { type: "cancel-job"; jobId: string; cause: AbortCause }
  | { type: "changed"; kind: string; id: string }
  /** Changes for the other processes' chat logs. `from` is the process that made them, and ignores this message. */
  | { type: "chat-log"; from: string; changes: ChatLogChange[] }
  /** A text to keep in memory alone (ephemeral.ts). Without a text, those whose keys begin so are dropped. */
  | { type: "ephemeral"; key: string; text?: string };

export interface Bus {
  /** Sends the message to every process, including this one. Messages can get lost, so listeners must also poll. */
  publish(message: BusMessage): void;
  listen(listener: (message: BusMessage) => void): () => void;
  close(): Promise<void>;
}

/** The lease may get lost while `work` runs, if this process stalls. */
export type WithLock = <T>(name: string, work: (lease: Lease) => Promise<T>) => Promise<T>;
