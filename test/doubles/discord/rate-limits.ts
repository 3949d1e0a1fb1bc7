/**
 * Buckets as Discord keeps them: one a route and channel, guild or webhook, in windows that begin with the first request.
 * Rules: bucket-numbers, buckets-are-per-resource, global-limit, invalid-requests
 */
import { createHash } from "node:crypto";
import type { Clock } from "./clock.ts";

export interface Limit {
  requests: number;
  windowMs: number;
}

/** By route name; others have the default. */
export type RouteLimits = Record<string, Limit | "none">;

const defaultLimits: RouteLimits = {
  default: { requests: 50, windowMs: 1000 },
  global: { requests: 50, windowMs: 1000 },
  "messages.create": { requests: 5, windowMs: 5000 },
  "messages.edit": { requests: 5, windowMs: 5000 },
  "messages.edit-old": { requests: 3, windowMs: 20_000 },
  "messages.delete": { requests: 5, windowMs: 1000 },
  "messages.list": { requests: 5, windowMs: 5000 },
  "messages.get": { requests: 5, windowMs: 5000 },
  "messages.bulk-delete": { requests: 1, windowMs: 3000 },
  reactions: { requests: 1, windowMs: 300 },
  typing: { requests: 5, windowMs: 5000 },
  "channels.edit": { requests: 5, windowMs: 15_000 },
  "threads.create": { requests: 50, windowMs: 300_000 },
  "commands.overwrite": { requests: 5, windowMs: 20_000 },
  webhooks: { requests: 5, windowMs: 2000 },
  "interactions.callback": "none",
  invalid: { requests: 10_000, windowMs: 600_000 },
};

/** What one request found: headers to answer with, and how long to wait when it came too early. */
export interface Allowance {
  headers: Record<string, string>;
  refused?: { retryAfter: number; isGlobal: boolean };
}

export interface RateLimits {
  /** Changes a limit; `none` turns it off. */
  set(route: string, limit: Limit | "none"): void;
  take(route: string, resource: string, isBoundGlobally: boolean): Allowance;
}

interface Window {
  used: number;
  endsAt: number;
}

/** `none`: no route has a limit until one is set. */
export function createRateLimits(clock: Clock, overrides: RouteLimits | "none"): RateLimits {
  const limits: RouteLimits = overrides === "none" ? {} : { ...defaultLimits, ...overrides };
  const windows = new Map<string, Window>();

  function enter(key: string, limit: Limit): { isAllowed: boolean; window: Window } {
    const now = clock.now();
    const open = windows.get(key);
    const window = open === undefined || open.endsAt <= now ? { used: 0, endsAt: now + limit.windowMs } : open;
    windows.set(key, window);
    if (window.used >= limit.requests) return { isAllowed: false, window };
    window.used += 1;
    return { isAllowed: true, window };
  }

  return {
    set(route, limit) {
      limits[route] = limit;
    },
    take(route, resource, isBoundGlobally) {
      const limit = limits[route] ?? (route === "invalid" ? "none" : limits.default) ?? "none";
      const global = limits.global ?? "none";
      if (isBoundGlobally && global !== "none") {
        const { isAllowed, window } = enter("global", global);
        if (!isAllowed) {
          const retryAfter = (window.endsAt - clock.now()) / 1000;
          return {
            headers: { "x-ratelimit-global": "true", "x-ratelimit-scope": "global" },
            refused: { retryAfter, isGlobal: true },
          };
        }
      }
      if (limit === "none") return { headers: {} };
      const { isAllowed, window } = enter(`${route} ${resource}`, limit);
      const left = Math.max(0, window.endsAt - clock.now()) / 1000;
      const headers = {
        "x-ratelimit-limit": String(limit.requests),
        "x-ratelimit-remaining": String(limit.requests - window.used),
        "x-ratelimit-reset": (window.endsAt / 1000).toFixed(3),
        "x-ratelimit-reset-after": left.toFixed(3),
        "x-ratelimit-bucket": createHash("md5").update(route).digest("hex"),
      };
      if (isAllowed) return { headers };
      return { headers: { ...headers, "x-ratelimit-scope": "user" }, refused: { retryAfter: left, isGlobal: false } };
    },
  };
}
