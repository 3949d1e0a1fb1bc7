/** How requests keep Discord's rate limits, beyond what its client does: short ones are waited for, long ones are not. */
import { type RateLimitData, RateLimitError, type REST, RESTEvents } from "discord.js";
import { leftOf } from "../../../lib/elapsed.ts";
import type { RateBudget } from "../../../ports/rate-budget.ts";
import { oldMessageMs, snowflakeEpochMs } from "../limits.ts";
import { bucketOf, globalBucket } from "./shared-slots.ts";

const maxThreadWaitMs = 5_000;
/** With a longer wait, the request fails, so that its turn frees its slot and tries again later. */
const maxLimitWaitMs = 10 * 60_000;
/** Smaller steps are usual, and lengthen a wait only by themselves. */
const maxClockStepMs = 1_000;
const maxTrustedSkewMs = 5_000;

/** The answer that uses up a limit says how long to wait, before anything is refused. */
export function tellOthers(rest: REST, budget: RateBudget, now: () => number): void {
  rest.on(RESTEvents.Response, ({ method, path }, { status, headers }) => {
    if (status === 429 && isOldEdit(method, path, now())) return;
    if (status !== 429 && headers.get("x-ratelimit-remaining") !== "0") return;
    const seconds = Number(headers.get("x-ratelimit-reset-after") ?? headers.get("retry-after"));
    const bucket = headers.has("x-ratelimit-global") ? globalBucket : bucketOf(method, path);
    if (seconds > 0) budget.hold(bucket, seconds * 1_000);
  });
}

/**
 * discord.js reckons its waits by the machine's clock. If that is set back by an hour, its limits would last an hour longer,
 * also that of all routes. So they are forgotten, and Discord says again what it limits. The result looks at the clock, and
 * returns how often it was set back.
 */
export function watchClock(...all: REST[]): () => number {
  const aheadMs = () => Date.now() - performance.now();
  let [before, count] = [aheadMs(), 0];
  return () => {
    const now = aheadMs();
    if (now < before - maxClockStepMs) {
      count += 1;
      for (const rest of all) {
        Object.assign(rest, { globalReset: -1, globalDelay: null });
        rest.handlers.clear();
      }
    }
    before = now;
    return count;
  };
}

/** The machine's clock may be wrong, and ids of messages contain Discord's time. Discord tells it in whole seconds. */
export function followClock(rest: REST): () => number {
  let [discordsTime, at] = [Date.now(), performance.now()];
  rest.on(RESTEvents.Response, (_request, { headers }) => {
    const date = Date.parse(headers.get("date") ?? "");
    if (!Number.isNaN(date)) [discordsTime, at] = [date, performance.now()];
  });
  return () => {
    const theirs = Math.round(discordsTime + performance.now() - at);
    return Math.abs(theirs - Date.now()) > maxTrustedSkewMs ? theirs : Date.now();
  };
}

/** Edits of old messages wait elsewhere: see `createOldEdits`. */
export function isNotWorthWaiting(limit: RateLimitData, now = Date.now()): boolean {
  return (
    (!limit.global && isOldEdit(limit.method, limit.url, now)) ||
    waitOf(limit) > (isForThreads(limit) ? maxThreadWaitMs : maxLimitWaitMs)
  );
}

/** `url` may be a path. Discord limits such edits on their own, beside the limit of all edits in the channel. */
function isOldEdit(method: string, url: string, now: number): boolean {
  const [, messageId] = /\/channels\/\d+\/messages\/(\d+)$/.exec(url) ?? [];
  return method.toUpperCase() === "PATCH" && messageId !== undefined && isOldMessage(messageId, now);
}

export function isOldMessage(messageId: string, now: number): boolean {
  return timeOfId(messageId) < now - oldMessageMs;
}

/** A channel accepts 50 new threads in five minutes. Answering elsewhere is better than waiting. */
function isForThreads({ global, method, route }: RateLimitData): boolean {
  return !global && method === "POST" && route.endsWith("/threads");
}

export function waitOf({ timeToReset, retryAfter }: Pick<RateLimitData, "timeToReset" | "retryAfter">): number {
  return Math.max(timeToReset, retryAfter);
}

function timeOfId(id: string): number {
  return Number(BigInt(id) >> 22n) + snowflakeEpochMs;
}

/** As if Discord were away, and nothing else would help. */
export function isLikeOutage(limit: RateLimitData): boolean {
  return waitOf(limit) > maxLimitWaitMs && !isForThreads(limit);
}

/** Remembers limits that nobody waits for, because each request in spite of one makes Discord's next ban likelier. */
export function createLongLimits() {
  const limits = new Map<string, { since: number; thrown: RateLimitError }>();
  return {
    /** Throws what Discord last answered while its limit lasts longer than anybody waits. */
    check(method: string, route: string): void {
      for (const bucket of [globalBucket, bucketOf(method, route)]) {
        const known = limits.get(bucket);
        if (known === undefined) continue;
        if (leftOf(waitOf(known.thrown), known.since) > maxLimitWaitMs) throw known.thrown;
        limits.delete(bucket);
      }
    },
    note(method: string, route: string, thrown: unknown): void {
      if (!(thrown instanceof RateLimitError) || waitOf(thrown) <= maxLimitWaitMs) return;
      // discord.js leaves the message empty. Its own route has no ids and tokens.
      thrown.message = `The rate limit of ${method} ${thrown.route} was reached. Wait ${Math.ceil(waitOf(thrown) / 1_000)} s.`;
      const bucket = thrown.global ? globalBucket : bucketOf(method, route);
      if (!limits.has(bucket)) limits.set(bucket, { since: Date.now(), thrown });
    },
  };
}
