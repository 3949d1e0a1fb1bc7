/** Retries while Redis or the ledger is unreachable so that an outage neither loses nor fails a job. */
import { setTimeout as wait } from "node:timers/promises";
import { codeOf } from "../../lib/errors.ts";
import { isTransientStorageError } from "../../lib/transient-errors.ts";
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

/** Retries are unlimited until the queue closes; after that each step has limited time. */
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

/** Makes steps wait while the ledger is unreachable. If its disk is full, new attempts fail, but outcomes wait. */
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
      retrying(
        () => ledger.transition(kind, id, from, to, change),
        to === "started" ? isAway : isTransientStorageError,
      ),
  };
}

function isAway(thrown: unknown): boolean {
  return isTransientStorageError(thrown) && codeOf(thrown) !== "storage.full";
}

const transientReplies = /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|BUSY)\b/;

/** True if Redis gave no response or a transient error. */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof TypeError || thrown instanceof RangeError) return false;
  return thrown.name !== "ReplyError" || transientReplies.test(thrown.message);
}
