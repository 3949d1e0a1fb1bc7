/** Connects the platforms. If several processes have a page, only one of them serves it. */
import type { Log } from "../../lib/log.ts";
import type { Events } from "../../ports/events.ts";
import type { Platform, PlatformHandlers } from "../../ports/platform.ts";
import type { PageHome } from "../local/page-home.ts";

export interface ConnectionsOptions {
  platforms: readonly Platform[];
  pageHome: PageHome;
  events: Events;
  log: Log;
}

export interface PlatformConnections {
  /** Includes platforms that are still connecting. */
  all(): Platform[];
  /** Does not wait for the platforms: `connected` resolves when all of them are connected. */
  start(handlers: PlatformHandlers, signal: AbortSignal): Promise<{ connected: Promise<unknown> }>;
  servePage(handlers: PlatformHandlers, signal: AbortSignal): Promise<void>;
}

export function createConnections(options: ConnectionsOptions): PlatformConnections {
  const { platforms, pageHome, events, log } = options;
  const connected = new Set<Platform>();
  let isPageOurs = false;

  async function connect(platform: Platform, handlers: PlatformHandlers, signal: AbortSignal): Promise<void> {
    await platform.connect(handlers, signal);
    events.emit("platform.connected", { platform: platform.name });
  }

  return {
    all: () => [...connected],
    async start(handlers, signal) {
      for (const platform of platforms) {
        if (platform.name === "local") isPageOurs = await pageHome.claim();
        if (platform.name !== "local" || isPageOurs) connected.add(platform);
        else log.warn({}, "another process serves the page, so this one does not");
      }
      const all = Promise.all([...connected].map((platform) => connect(platform, handlers, signal)));
      all.catch(() => {});
      return { connected: all };
    },
    async servePage(handlers, signal) {
      const page = platforms.find(({ name }) => name === "local");
      if (page === undefined) return;
      if (await pageHome.claim()) isPageOurs = true;
      if (!isPageOurs || connected.has(page)) return;
      await connect(page, handlers, signal);
      connected.add(page);
      log.info({}, "this process now serves the page");
    },
  };
}
