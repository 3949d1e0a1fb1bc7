/** Builds the web server: health and metrics, people who sign in, then the dashboard and the platforms' HTTP paths. */
import { signInSettings } from "../config/derive.ts";
import type { Platform } from "../ports/platform.ts";
import { authorOf } from "../ports/visitor.ts";
import { type Accounts, createAccounts } from "../web/accounts/accounts.ts";
import { mountSignIn } from "../web/accounts/sign-in-routes.ts";
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

/** `slackPerson` is undefined without Slack. Only Slack can say that a person has gone, whatever the conversation. */
export function buildAccounts(
  { settings, log }: AppOptions,
  { ledger, audit }: State,
  { app, admit, placeOf, readBody, cookiesOf }: WebServer,
  slackPerson: Platform["lookUp"],
): Accounts {
  const { web } = settings.config;
  const claimRoles = web.signIn.oidc?.roles ?? {};
  const services = signInSettings(settings);
  const accounts = createAccounts({
    ...{ ledger, publicUrl: web.publicUrl, roles: () => web.accounts, claimRoles, services },
    isStillThere: async (person) =>
      person.platform !== "slack" ||
      slackPerson === undefined ||
      (await slackPerson(authorOf(person), "slack:")) !== undefined,
  });
  admit(accounts);
  mountSignIn(app, { accounts, ledger, audit, log, placeOf, readBody, cookiesOf });
  return accounts;
}

export interface PagesParts extends DashboardParts {
  platforms: Platforms;
}

export function mountPages({ app, readBody }: WebServer, options: AppOptions, state: State, parts: PagesParts): void {
  if (takesMessages(options.role))
    for (const platform of parts.platforms.byName.values()) if (isMounted(platform)) platform.mount(app, readBody);
  buildDashboard(app, options, state, parts);
}
