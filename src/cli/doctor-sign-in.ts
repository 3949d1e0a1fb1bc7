/** Whether people can sign in to the dashboard: accounts, roles, the proxy, and the public address. */

import type { Settings } from "../config/settings.ts";
import { isAlive, readRuns } from "../health/last-run.ts";
import { messageOf } from "../lib/errors.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { counted } from "../lib/text/counted.ts";
import type { HealthCheck } from "../ports/health.ts";
import { createLocalAccounts } from "../web/accounts/local-accounts.ts";
import { withLedger } from "./open-state.ts";

const name = "sign-in";
const answerMs = 5_000;
const addAccount = "Add an account: npm run -s remora -- accounts add NAME --role viewer";

/** Nothing to say if nobody has an account and there is no public address. */
export async function checkSignIn(settings: Settings): Promise<HealthCheck[]> {
  const { publicUrl } = settings.config.web;
  const count = await countAccounts(settings);
  if (publicUrl === null) {
    if (count === 0) return [];
    return [
      {
        name,
        state: "ok",
        what: `${counted(count, "account")} with a password, at this machine only: web.publicUrl is not set`,
      },
    ];
  }
  const problems = [
    ...checkRoles(settings, publicUrl, count),
    ...checkProxies(settings, publicUrl),
    ...(await checkAddress(settings, publicUrl)),
  ];
  if (problems.length > 0) return problems;
  return [
    {
      name,
      state: "ok",
      what: `at ${publicUrl}, with ${[`${counted(count, "account")} with a password`, ...servicesOf(settings)].join(", ")}`,
    },
  ];
}

/** Zero if the ledger can't be read, which another check says. */
async function countAccounts(settings: Settings): Promise<number> {
  try {
    return await withLedger(settings, async (ledger) => (await createLocalAccounts(ledger).list()).length);
  } catch {
    return 0;
  }
}

function checkRoles({ config: { web } }: Settings, publicUrl: string, count: number): HealthCheck[] {
  const { signIn, accounts } = web;
  const ways = Object.values(signIn).filter((way) => way !== null);
  const identities = Object.keys(accounts);
  const claimed = Object.keys(signIn.oidc?.roles ?? {});
  if (count === 0 && ways.length === 0)
    return [{ name, state: "warning", what: `nobody can sign in at ${publicUrl}`, todo: addAccount }];
  const todo = 'Give people one in web.accounts, such as "slack:U0123ABCD": viewer';
  if (count === 0 && identities.length === 0 && claimed.length === 0)
    return [{ name, state: "warning", what: "people can sign in, but nobody has a role", todo }];
  const useless = identities.filter((identity) => signIn[identity.split(":")[0] as keyof typeof signIn] === null);
  if (useless.length === 0) return [];
  const what = `web.accounts has ${useless.join(", ")}, but web.signIn does not have the service`;
  return [{ name, state: "warning", what, todo: "Set it in web.signIn, or remove the identity" }];
}

/** Without a proxy that is trusted, nothing proves that a request came over HTTPS. */
function checkProxies({ config: { web } }: Settings, publicUrl: string): HealthCheck[] {
  if (web.trustedProxies.length > 0 || !publicUrl.startsWith("https:")) return [];
  const what = `no proxy is trusted, so every request to ${publicUrl} is refused`;
  return [{ name, state: "warning", what, todo: "Add the proxy's address to web.trustedProxies" }];
}

async function checkAddress({ data }: Settings, publicUrl: string): Promise<HealthCheck[]> {
  if (!(await readRuns(data)).some(isAlive)) return [];
  const todo = "Check the proxy and the name (docs/reverse-proxy.md)";
  try {
    const response = await fetchDirectly(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(answerMs) });
    const text = (await response.text()).trim();
    if (response.ok && text === "ok") return [];
    const said = text.startsWith("Refused:") ? text : `it answers ${response.status}`;
    return [{ name, state: "warning", what: `${publicUrl} does not lead to Remora: ${said}`, todo }];
  } catch (thrown) {
    const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
    return [{ name, state: "warning", what: `${publicUrl} can't be reached from here: ${messageOf(cause)}`, todo }];
  }
}

function servicesOf({ config: { web } }: Settings): string[] {
  const { slack, discord, oidc } = web.signIn;
  return [
    ...(slack === null ? [] : ["Slack"]),
    ...(discord === null ? [] : ["Discord"]),
    ...(oidc === null ? [] : [oidc.name]),
  ];
}
