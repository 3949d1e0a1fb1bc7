/**
 * Waits until this and the other processes leave room for a request, for all routes and for its own. The requests of a process
 * wait in one line, so only the first one asks, however many there are. They keep their order. Otherwise a steady stream of
 * writes would hold back reads that other writes wait for, such as whether a message was already posted. Questions about people
 * and their rights go first, because a click waits for them and ends in three seconds. What nobody waits for stands behind all
 * others, but not for ever.
 */
import PQueue from "p-queue";
import { pause } from "../../../lib/backoff.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { globalRate } from "../limits.ts";

/** Rejects with the signal's reason if it aborts while the request waits. */
export type SharedSlot = (method: string, route: string, signal: AbortSignal, isBackground?: boolean) => Promise<void>;

/**
 * The longest wait at the head of the line, and for a request's own route. After that, the request is sent, and Discord
 * itself says how long to wait.
 */
export const maxSharedWaitMs = 30_000;
export const globalBucket = "global";
/** After that, a request in the background stands in line like others. */
const maxBackgroundMs = 10_000;

/** The slots of this process. Together with a budget that all processes share, it counts if nobody can be asked about that. */
export function createOwnBudget(shared?: RateBudget): RateBudget {
  const dueAt = new Map<string, number>();
  return {
    async take(bucket, rate) {
      const wait = (await shared?.take(bucket, rate)) ?? 0;
      if (wait > 0 || rate === undefined) return wait;
      const now = performance.now();
      const due = Math.max(dueAt.get(bucket) ?? now, now);
      const ownWait = due - (rate.burst - 1) * rate.everyMs - now;
      if (ownWait > 0) return ownWait;
      dueAt.set(bucket, due + rate.everyMs);
      return 0;
    },
    hold: (bucket, ms) => shared?.hold(bucket, ms),
  };
}

/** In the line. */
interface Standing {
  isBackground: boolean;
  isAboutRights: boolean;
}

export function createSharedSlots(budget: RateBudget): SharedSlot {
  const line = new PQueue({ concurrency: 1 });
  let count = 0;

  async function inLine<T>(
    work: () => Promise<T>,
    signal: AbortSignal,
    { isBackground, isAboutRights }: Standing,
  ): Promise<T> {
    if (!isBackground) return await line.add(work, { signal, priority: isAboutRights ? 1 : 0 });
    const id = String(count++);
    let isWaiting = true;
    const timer = setTimeout(() => isWaiting && line.setPriority(id, 0), maxBackgroundMs);
    const begun = () => {
      isWaiting = false;
      return work();
    };
    return await line.add(begun, { signal, id, priority: -1 }).finally(() => {
      isWaiting = false;
      clearTimeout(timer);
    });
  }

  /** Resolves to 0 if the request can be sent, or to how long its route must wait. It then leaves the line, for the others. */
  async function atHead(bucket: string | undefined, signal: AbortSignal): Promise<number> {
    for (let leftMs = maxSharedWaitMs; !signal.aborted && leftMs > 0; ) {
      const routeWait = bucket === undefined ? 0 : await budget.take(bucket);
      if (routeWait > 0) return routeWait;
      const wait = await budget.take(globalBucket, globalRate);
      if (wait === 0) break;
      await pause(Math.min(wait, leftMs), signal);
      leftMs -= wait;
    }
    return 0;
  }

  return async (method, route, signal, isBackground = false) => {
    // Waits for new threads are left to `isNotWorthWaiting`.
    const bucket = route.endsWith("/threads") ? undefined : bucketOf(method, route);
    const standing = { isBackground, isAboutRights: method === "GET" && !route.includes("/messages") };
    for (let leftMs = maxSharedWaitMs; leftMs > 0; ) {
      const routeWait = await inLine(() => atHead(bucket, signal), signal, standing);
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
