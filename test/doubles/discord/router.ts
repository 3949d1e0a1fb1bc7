/** Routes: a method, a path with names for its parts, what it is called in the log, and what it does. */
import type { UploadedFile } from "./message-form.ts";
import type { World } from "./world.ts";

export interface RouteRequest {
  world: World;
  /** The parts of the path by their names. */
  parts: Record<string, string>;
  query: URLSearchParams;
  json: unknown;
  files: UploadedFile[];
}

/** 200 with a body, or 204 without; another status where the body says so. */
export type RouteAnswer = { status?: number; body?: unknown };

export interface Route {
  /** Names the route in the log, for faults, and for its rate limit. */
  name: string;
  method: string;
  pattern: string;
  /** The name of the limit, where routes share one. */
  limit?: string;
  /** Needs no bot token: interactions and webhooks carry their own in the path. */
  isOpen?: boolean;
  handle(request: RouteRequest): RouteAnswer;
}

interface Compiled {
  route: Route;
  keys: string[];
  test: RegExp;
}

export interface Match {
  route: Route;
  parts: Record<string, string>;
  /** The channel, guild or webhook that its rate limit is kept for. */
  resource: string;
}

export interface Router {
  /** The route; `wrong-method` if the path exists with another method. */
  find(method: string, path: string): Match | "wrong-method" | undefined;
}

export function createRouter(routes: Route[]): Router {
  const compiled: Compiled[] = routes.map((route) => ({
    route,
    keys: [...route.pattern.matchAll(/:(\w+)/g)].map((match) => match[1] ?? ""),
    test: new RegExp(`^${route.pattern.replaceAll("@", "\\@").replace(/:\w+/g, "([^/]+)")}$`),
  }));
  return {
    find(method, path) {
      let isKnownPath = false;
      for (const { route, keys, test } of compiled) {
        const match = test.exec(path);
        if (match === null) continue;
        isKnownPath = true;
        if (route.method !== method) continue;
        const parts = Object.fromEntries(keys.map((key, index) => [key, decodeURIComponent(match[index + 1] ?? "")]));
        return { route, parts, resource: parts.channel ?? parts.guild ?? parts.token ?? "" };
      }
      return isKnownPath ? "wrong-method" : undefined;
    },
  };
}
