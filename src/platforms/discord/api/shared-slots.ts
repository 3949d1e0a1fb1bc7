/**
 * Waits until the other processes leave room for a request, for all routes and for its own. The requests of a process
 * wait in one line, so that however many there are, only the first one asks. Nothing overtakes in it: without an end to
 * the writes, what they wait for, such as whether a message was already posted, would never be read.
 */
import PQueue from "p-queue";
import { pause } from "../../../lib/backoff.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { sharedRate } from "../limits.ts";

/** Rejects with the signal's reason if it aborts in the line. */
export type SharedSlot = (method: string, route: string, signal: AbortSignal) => Promise<void>;

/**
 * Counts for the first request of the line, and for the waits that its route asks for. After that, the request is sent, and
 * Discord itself says how long to wait.
 */
export const maxSharedWaitMs = 30_000;
export const globalBucket = "global";

export function createSharedSlots(budget: RateBudget): SharedSlot {
  const line = new PQueue({ concurrency: 1 });

  /** Resolves to 0 with a slot, or to how long the route has to wait, which must not hold up the others. */
  async function atHead(bucket: string | undefined, signal: AbortSignal): Promise<number> {
    for (const until = Date.now() + maxSharedWaitMs; !signal.aborted && Date.now() < until; ) {
      const routeWait = bucket === undefined ? 0 : await budget.take(bucket);
      if (routeWait > 0) return routeWait;
      const wait = await budget.take(globalBucket, sharedRate);
      if (wait === 0) break;
      await pause(wait, signal);
    }
    return 0;
  }

  return async (method, route, signal) => {
    // A thread that is not to be waited for is left to `isNotWorthWaiting`.
    const bucket = route.endsWith("/threads") ? undefined : bucketOf(method, route);
    for (let leftMs = maxSharedWaitMs; leftMs > 0; ) {
      const routeWait = await line.add(() => atHead(bucket, signal), { signal });
      if (routeWait === 0) return;
      await pause(Math.min(routeWait, leftMs), signal);
      leftMs -= routeWait;
    }
  };
}

/** The limits of a route are separate for each channel, guild and webhook. */
export function bucketOf(method: string, route: string): string {
  const [, kind = "", major = "", ...rest] = route.replace(/\/reactions\/.*/, "/reactions").split("/");
  return `${method} ${kind} ${major} ${rest.map((part) => (/^\d+$/.test(part) ? ":id" : part)).join("/")}`;
}
