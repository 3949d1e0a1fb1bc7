/**
 * Waits until the other processes leave room for a request, for all routes and for its own. The requests of a process
 * wait in one line, so only the first one asks, however many there are. They keep their order. Otherwise a steady stream of
 * writes would hold back reads that other writes wait for, such as whether a message was already posted.
 */
import PQueue from "p-queue";
import { pause } from "../../../lib/backoff.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { sharedRate } from "../limits.ts";

/** Rejects with the signal's reason if it aborts while the request waits. */
export type SharedSlot = (method: string, route: string, signal: AbortSignal) => Promise<void>;

/**
 * The longest wait at the head of the line, and for a request's own route. After that, the request is sent, and Discord
 * itself says how long to wait.
 */
export const maxSharedWaitMs = 30_000;
export const globalBucket = "global";

export function createSharedSlots(budget: RateBudget): SharedSlot {
  const line = new PQueue({ concurrency: 1 });

  /** Resolves to 0 if the request can be sent, or to how long its route must wait. It then leaves the line, for the others. */
  async function atHead(bucket: string | undefined, signal: AbortSignal): Promise<number> {
    for (let leftMs = maxSharedWaitMs; !signal.aborted && leftMs > 0; ) {
      const routeWait = bucket === undefined ? 0 : await budget.take(bucket);
      if (routeWait > 0) return routeWait;
      const wait = await budget.take(globalBucket, sharedRate);
      if (wait === 0) break;
      await pause(Math.min(wait, leftMs), signal);
      leftMs -= wait;
    }
    return 0;
  }

  return async (method, route, signal) => {
    // Waits for new threads are left to `isNotWorthWaiting`.
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
