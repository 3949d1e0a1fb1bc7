/** Readers-writer locks for drafts. Hold one while a view is open: overlayfs must not see a lower layer change. */
import { pause } from "../../lib/backoff.ts";
import { never } from "../../lib/never.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { Lease, Leases } from "../../ports/cluster.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import { draftKey, draftKeyFromId } from "./draft-store.ts";

export interface DraftLocks {
  use<T>(name: string, mode: "shared" | "exclusive", signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Lock {
  lease: Lease | undefined;
  /** Set while acquiring the lease, which keeps other processes out. Later users wait for the same promise. */
  acquiring: Promise<void> | undefined;
  readers: number;
  writer: boolean;
  /** First come, first served so that readers can't starve a writer. */
  waiting: { mode: "shared" | "exclusive"; admit(): void }[];
}

const leaseRetryMs = 20;

export function draftLockName(draft: Pick<DraftRecord, "conversationId" | "folder">): string {
  return `draft:${draftKey(draft)}`;
}

export function draftLockNameFromId(id: string): string {
  return `draft:${draftKeyFromId(id)}`;
}

export function createDraftLocks(leases: Leases): DraftLocks {
  const locks = new Map<string, Lock>();

  function lockOf(name: string): Lock {
    const existing = locks.get(name);
    if (existing !== undefined) return existing;
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

  /** An abort ends only this user's wait. The others still get the lease. */
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
