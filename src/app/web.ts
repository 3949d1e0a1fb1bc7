/** Builds the web server: health and metrics, then the dashboard and the platforms' HTTP paths. */
import { createRequire } from "node:module";
import { mountDashboard, type StatusLine } from "../web/dashboard.ts";
import type { Readiness } from "../web/readiness.ts";
import { createWebServer, type WebServer } from "../web/server.ts";
import { createSnapshot } from "../web/snapshot.ts";
import type { ConversationParts } from "./conversations.ts";
import { type AppOptions, takesMessages } from "./options.ts";
import { isMounted, type Platforms } from "./platforms.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

export function buildWebServer(
  { settings, token, log }: AppOptions,
  { metrics }: State,
  readiness: () => Readiness,
): WebServer {
  return createWebServer({ ...settings.config.web, token, readiness, metrics, log });
}

export interface PagesParts {
  platforms: Platforms;
  skills: Skills;
  tools: Tools;
  parts: ConversationParts;
  status(): StatusLine[];
}

export function mountPages(
  { app }: WebServer,
  { role }: AppOptions,
  { ledger }: State,
  { platforms, skills, tools, parts: { approvals }, status }: PagesParts,
): void {
  if (takesMessages(role))
    for (const platform of platforms.byName.values()) if (isMounted(platform)) platform.mount(app);
  mountDashboard(app, {
    snapshot: createSnapshot({
      ...{ version, ledger, approvals, status },
      queue: tools.queue,
      skills: () => skills.library.current(),
    }),
    decide: (decision) => approvals.decide(decision),
    diffOf: (id) => approvals.diffOf(id),
  });
}
