/**
 * Retries while Redis or the ledger is unreachable. An outage neither loses nor fails a job: its waiters wait until it
 * is stopped or the queue closes.
 */
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import type { Ledger } from "../../ports/ledger.ts";

const firstWaitMs = 50;
const maxRetryWaitMs = 1_000;

export async function retryTransient<T>(
  work: () => Promise<T>,
  isTransient: (thrown: unknown) => boolean,
  isOver: () => boolean,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxRetryWaitMs)) {
    try {
      return await work();
    } catch (thrown) {
      if (!isTransient(thrown) || isOver()) throw thrown;
      await wait(waitMs);
    }
  }
}

/** Limits retries: unlimited until the queue closes; after that each step has limited time. */
export interface RetryLimit {
  isOver(since: number): boolean;
  end(): void;
}

export function createRetryLimit(whileMs: number): RetryLimit {
  let endedAt: number | undefined;
  return {
    isOver: (since) => endedAt !== undefined && performance.now() - Math.max(since, endedAt) > whileMs,
    end() {
      endedAt ??= performance.now();
    },
  };
}

/**
 * Wraps a ledger, so that its steps wait while it can't be reached. A new attempt is refused if the ledger can't store
 * it, for example because the disk is full. The outcome of an attempt waits until it can be stored.
 */
export function createRetryingLedger(ledger: Ledger, retryLimit: RetryLimit): Ledger {
  const retrying = <T>(work: () => Promise<T>, isTransient: (thrown: unknown) => boolean) => {
    const since = performance.now();
    return retryTransient(work, isTransient, () => retryLimit.isOver(since));
  };
  return {
    ...ledger,
    create: (kind, id, entry) => retrying(() => ledger.create(kind, id, entry), isAway),
    get: (kind, id) => retrying(() => ledger.get(kind, id), isAway),
    transition: (kind, id, from, to, change) =>
      retrying(() => ledger.transition(kind, id, from, to, change), to === "started" ? isAway : isRetryable),
  };
}

function isAway(thrown: unknown): boolean {
  return isRetryable(thrown) && /^storage\.(?:unreachable|loading|busy)$/.test(codeOf(thrown) ?? "");
}

function isRetryable(thrown: unknown): boolean {
  return thrown instanceof RemoraError && thrown.isRetryable;
}

const transientReplies = /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|BUSY)\b/;

/** For commands to Redis itself: true if there was no answer, or if the answer is a transient error. */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof TypeError || thrown instanceof RangeError) return false;
  return thrown.name !== "ReplyError" || transientReplies.test(thrown.message);
}
