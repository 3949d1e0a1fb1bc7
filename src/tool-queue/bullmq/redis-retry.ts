/**
 * Waiting while Redis, or the ledger, is away. A job is not lost because of that and does not fail because of it: whoever
 * waits for it waits on, until it is stopped or the queue is closed.
 */
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, RemoraError } from "../../lib/errors.ts";
import type { Ledger } from "../../ports/ledger.ts";

const firstWaitMs = 50;
const longestWaitMs = 1_000;

/** Tries again, at growing distances, as long as it fails for a passing reason and it is not over. */
export async function patiently<T>(
  work: () => Promise<T>,
  isPassing: (thrown: unknown) => boolean,
  isOver: () => boolean,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await work();
    } catch (thrown) {
      if (!isPassing(thrown) || isOver()) throw thrown;
      await wait(waitMs);
    }
  }
}

/** Without an end until the queue closes; from then on each step has a while. */
export interface Patience {
  /** For what began at `since` (`performance.now()`). */
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
 * The same ledger, which waits while it can't be reached. What is to be begun is refused when the ledger answers that it
 * can't keep it, such as on a full disk; what is known about an attempt's end is held until it can be kept.
 */
export function createPatientLedger(ledger: Ledger, patience: Patience): Ledger {
  const patient = <T>(work: () => Promise<T>, isPassing: (thrown: unknown) => boolean) => {
    const since = performance.now();
    return patiently(work, isPassing, () => patience.isOver(since));
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

/** What a Redis that starts, or that is in the middle of a failover, answers. */
const passingAnswers = /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|BUSY)\b/;

/** For commands to Redis itself: anything but an answer, and answers that pass by themselves. */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof TypeError || thrown instanceof RangeError) return false;
  return thrown.name !== "ReplyError" || passingAnswers.test(thrown.message);
}
