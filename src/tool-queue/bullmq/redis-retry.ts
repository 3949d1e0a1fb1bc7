/**
 * Retries while Redis or the ledger is unreachable. An outage neither loses nor fails a job: its waiters wait until it
 * is stopped or the queue closes.
 */
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import type { Ledger } from "../../ports/ledger.ts";

const firstWaitMs = 50;
const maxRetryWaitMs = 1_000;

export async function retryPatiently<T>(
  work: () => Promise<T>,
  isPassing: (thrown: unknown) => boolean,
  isOver: () => boolean,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, maxRetryWaitMs)) {
    try {
      return await work();
    } catch (thrown) {
      if (!isPassing(thrown) || isOver()) throw thrown;
      await wait(waitMs);
    }
  }
}

/** Limits retries: unlimited until the queue closes; after that each step has limited time. */
export interface Patience {
  isOver(since: number): boolean;
  end(): void;
}

export function createPatience(whileMs: number): Patience {
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
export function createPatientLedger(ledger: Ledger, patience: Patience): Ledger {
  const patient = <T>(work: () => Promise<T>, isPassing: (thrown: unknown) => boolean) => {
    const since = performance.now();
    return retryPatiently(work, isPassing, () => patience.isOver(since));
  };
  return {
    ...ledger,
    create: (kind, id, entry) => patient(() => ledger.create(kind, id, entry), isAway),
    get: (kind, id) => patient(() => ledger.get(kind, id), isAway),
    transition: (kind, id, from, to, change) =>
      patient(() => ledger.transition(kind, id, from, to, change), to === "started" ? isAway : isRetryable),
  };
}

function isAway(thrown: unknown): boolean {
  return isRetryable(thrown) && /^storage\.(?:unreachable|loading|busy)$/.test(codeOf(thrown) ?? "");
}

function isRetryable(thrown: unknown): boolean {
  return thrown instanceof RemoraError && thrown.isRetryable;
}

const passingAnswers = /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|BUSY)\b/;

/** For commands to Redis itself: true if there was no answer, or if the answer is a transient error. */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof TypeError || thrown instanceof RangeError) return false;
  return thrown.name !== "ReplyError" || passingAnswers.test(thrown.message);
}
