/**
 * Who may use a draft at the same time: any number of calls that only read it, or one that changes or decides it.
 *
 * Within the process a queue keeps the order; between processes a lease does, held from the first user to the last. An
 * overlay must not see its lower layer change, so a call holds its lock for as long as its view is open.
 */

import { pause } from "../../lib/backoff.ts";
import type { Lease, Leases } from "../../ports/cluster.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import { placeOf, placeOfId } from "./draft-store.ts";

export interface DraftLocks {
  /** Rejects with the signal's reason when it aborts before the lock is held. */
  use<T>(name: string, mode: "shared" | "exclusive", signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Lock {
  lease: Lease | undefined;
  /** While the lease is being acquired; those that come meanwhile wait for the same one. */
  acquiring: Promise<void> | undefined;
  readers: number;
  writer: boolean;
  /** In the order of asking, so that readers can't keep a writer out. */
  waiting: { mode: "shared" | "exclusive"; admit(): void }[];
}

const leaseRetryMs = 20;
const never = new AbortController().signal;

export function lockNameOf(draft: Pick<DraftRecord, "conversationId" | "folder">): string {
  return `draft:${placeOf(draft)}`;
}

/** Of a draft whose folder is all that is known of it. */
export function lockNameOfId(id: string): string {
  return `draft:${placeOfId(id)}`;
}

export function createDraftLocks(leases: Leases): DraftLocks {
  const locks = new Map<string, Lock>();

  function lockOf(name: string): Lock {
    const known = locks.get(name);
    if (known !== undefined) return known;
    const lock: Lock = { lease: undefined, acquiring: undefined, readers: 0, writer: false, waiting: [] };
    locks.set(name, lock);
    return lock;
  }

  function admitNext(lock: Lock): void {
    for (let next = lock.waiting[0]; next !== undefined; next = lock.waiting[0]) {
      const isFree = next.mode === "shared" ? !lock.writer : !lock.writer && lock.readers === 0;
      if (!isFree) return;
      lock.waiting.shift();
      if (next.mode === "shared") lock.readers += 1;
      else lock.writer = true;
      next.admit();
    }
  }

  function enter(lock: Lock, mode: "shared" | "exclusive", signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        lock.waiting = lock.waiting.filter((one) => one !== entry);
        admitNext(lock);
        reject(signal.reason);
      };
      const entry = {
        mode,
        admit() {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
      lock.waiting.push(entry);
      admitNext(lock);
    });
  }

  /** Whoever gives up waiting leaves the others their lease. */
  async function hold(name: string, lock: Lock, signal: AbortSignal): Promise<void> {
    if (lock.lease !== undefined) return;
    lock.acquiring ??= acquire(name, lock).finally(() => {
      lock.acquiring = undefined;
    });
    await untilAborted(lock.acquiring, signal);
  }

  async function acquire(name: string, lock: Lock): Promise<void> {
    while (isInUse(lock)) {
      const lease = await leases.acquire(name);
      if (lease === undefined) await pause(leaseRetryMs, never);
      else if (isInUse(lock)) {
        lock.lease = lease;
        return;
      } else await lease.release();
    }
  }

  async function leave(name: string, lock: Lock, mode: "shared" | "exclusive"): Promise<void> {
    if (mode === "shared") lock.readers -= 1;
    else lock.writer = false;
    const isUnused = !isInUse(lock) && lock.waiting.length === 0;
    if (isUnused) locks.delete(name);
    if (isUnused && lock.lease !== undefined) await lock.lease.release();
    admitNext(lock);
  }

  return {
    async use(name, mode, signal, work) {
      const lock = lockOf(name);
      await enter(lock, mode, signal);
      try {
        await hold(name, lock, signal);
        return await work();
      } finally {
        await leave(name, lock, mode);
      }
    },
  };
}

function isInUse({ readers, writer }: Lock): boolean {
  return readers > 0 || writer;
}

/** Rejects with the signal's reason when it aborts first. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
