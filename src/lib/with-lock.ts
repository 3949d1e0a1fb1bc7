/** Locks a name across all processes, with the cluster's leases. */
import type { Fence, Lease, Leases, WithLock } from "../ports/cluster.ts";
import { pause } from "./backoff.ts";
import { codeOf, RemoraError } from "./errors.ts";
import { never } from "./never.ts";

/** In milliseconds. With `longest` 0, a taken lock is not waited for. */
export interface LockWaits {
  longest: number;
  between: number;
}

const shortWork: LockWaits = { longest: 30_000, between: 15 };
const maxTries = 3;
const busyCode = "coordination.busy";
const lostCode = "coordination.lock-lost";

/** By default only for short work, because waiting callers poll every few milliseconds. Rejects with `coordination.busy`. */
export function createWithLock(leases: Leases, waits: LockWaits = shortWork): WithLock {
  return async (name, work) => {
    const lease = await acquiredInTime(leases, name, waits);
    try {
      return await work(lease);
    } finally {
      await lease.release();
    }
  };
}

async function acquiredInTime(leases: Leases, name: string, { longest, between }: LockWaits): Promise<Lease> {
  const until = performance.now() + longest;
  for (;;) {
    const lease = await leases.acquire(name);
    if (lease !== undefined) return lease;
    if (performance.now() >= until) {
      throw new RemoraError({
        code: busyCode,
        place: name,
        message: "this lock is taken, perhaps by another process, so nothing was changed. Try again.",
        isRetryable: true,
      });
    }
    await pause(between * (1 + Math.random()), never);
  }
}

/**
 * Runs `work` under the lock, and again from its reads on if another process has taken the lock over. `work` must call
 * `check` right before each write, and must not catch what it throws (`isLockLost`). This process may still stall between
 * the two: a write to the store can name the `fence`.
 */
export async function whileLocked<T>(
  withLock: WithLock,
  name: string,
  work: (check: () => void, fence: Fence | undefined) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await withLock(name, (lease) =>
        work(() => {
          if (lease.signal.aborted) throw lockLost(name);
        }, lease.fence),
      );
    } catch (thrown) {
      if (!isLockLost(thrown) || tries === maxTries) throw thrown;
    }
  }
}

export function isLockLost(thrown: unknown): boolean {
  return codeOf(thrown) === lostCode;
}

export function isLockTaken(thrown: unknown): boolean {
  return codeOf(thrown) === busyCode;
}

export function lockLost(name: string, cause?: unknown): RemoraError {
  return new RemoraError({
    code: lostCode,
    place: name,
    message: "another process has taken over this lock, so nothing was changed. Try again.",
    isRetryable: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
