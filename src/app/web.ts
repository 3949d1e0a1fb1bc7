/** Builds the web server: health and metrics, then the dashboard and the platforms' HTTP paths. */
import type { Readiness } from "../web/readiness.ts";
import { createWebServer, type WebServer } from "../web/server.ts";
import { buildDashboard, type DashboardParts } from "./dashboard.ts";
import { type AppOptions, takesMessages } from "./options.ts";
import { isMounted, type Platforms } from "./platforms.ts";
import type { State } from "./state.ts";

export function buildWebServer(
  { settings, token, log }: AppOptions,
  { metrics }: State,
  readiness: () => Readiness,
): WebServer {
  return createWebServer({ ...settings.config.web, token, readiness, metrics, log });
}

export interface PagesParts extends DashboardParts {
  platforms: Platforms;
}

export function mountPages({ app }: WebServer, options: AppOptions, state: State, parts: PagesParts): void {
  if (takesMessages(options.role))
    for (const platform of parts.platforms.byName.values()) if (isMounted(platform)) platform.mount(app);
  buildDashboard(app, options, state, parts);
}
