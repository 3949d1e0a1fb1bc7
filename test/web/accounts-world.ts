/** The dashboard's server as a proxy reaches it: the test writes every header, and Node's own client sends any Host. */
import { scryptSync } from "node:crypto";
import { request } from "node:http";
import { silentLog } from "../../src/lib/log.ts";
import { dashboardRoles } from "../../src/ports/visitor.ts";
import { type AccountsOptions, createAccounts } from "../../src/web/accounts/accounts.ts";
import { mountSignIn } from "../../src/web/accounts/sign-in-routes.ts";
import type { DashboardOptions } from "../../src/web/dashboard.ts";
import { createDashboardWorld, type DashboardWorld } from "./dashboard-world.ts";

export const publicHost = "remora.example.com";
const origin = `https://${publicHost}`;
export const password = "correct horse battery";
const noServices = { slack: null, discord: null, oidc: null };

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface AccountsWorld extends DashboardWorld {
  accounts: ReturnType<typeof createAccounts>;
  now: { at: number };
  /** As the trusted proxy on this machine passes it on, unless `headers` say something else. */
  ask(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Answer>;
  signIn(name: string, given?: string, headers?: Record<string, string>): Promise<Answer>;
  /** The headers of a browser that has signed in, with the token for changes. */
  browserOf(name: string): Promise<Record<string, string>>;
}

export async function createAccountsWorld(
  changes: Partial<AccountsOptions> = {},
  dashboard: Partial<DashboardOptions> = {},
): Promise<AccountsWorld> {
  const world = await createDashboardWorld(dashboard, { publicUrl: origin, trustedProxies: ["127.0.0.1"] });
  const now = { at: Date.now() };
  const { ledger = world.ledger } = changes;
  const accounts = createAccounts({
    ...{ ledger, publicUrl: origin, roles: () => ({}), claimRoles: {}, services: noServices },
    now: () => now.at,
    ...changes,
  });
  const { server } = world;
  const { placeOf, readBody, cookiesOf } = server;
  server.admit(accounts);
  mountSignIn(server.app, {
    ...{ accounts, ledger, audit: world.audit, log: silentLog, placeOf, readBody, cookiesOf, now: () => now.at },
  });
  const port = Number(new URL(world.url).port);
  const proxied = { host: publicHost, "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" };

  const ask: AccountsWorld["ask"] = (method, path, headers = {}, body = "") =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, method, path, headers: { ...proxied, ...headers } };
      const sent = request(options, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });

  const signIn: AccountsWorld["signIn"] = (name, given = password, headers = {}) =>
    ask(
      "POST",
      "/sign-in/password",
      { "content-type": "application/x-www-form-urlencoded", origin, ...headers },
      new URLSearchParams({ name, password: given }).toString(),
    );

  return Object.assign(world, {
    ...{ accounts, now, ask, signIn },
    async browserOf(name: string) {
      const cookie = cookieIn(await signIn(name));
      const me = JSON.parse((await ask("GET", "/dashboard/data/me", { cookie })).text) as { csrfToken: string };
      return { cookie, origin, "x-remora-csrf": me.csrfToken, "content-type": "application/json" };
    },
  });
}

/** A hash carries its cost. Real ones cost a tenth of a second per sign-in, on purpose. */
const lowCost = { N: 2 ** 10, r: 8, p: 1 };
const salt = Buffer.alloc(16, "salt");
const key = scryptSync(password, salt, 32, lowCost);
const hash = ["scrypt", lowCost.N, lowCost.r, lowCost.p, salt.toString("base64url"), key.toString("base64url")].join(
  "$",
);

/** One account for each role, named like it. */
export async function addAccountOfEachRole({ ledger, now }: AccountsWorld): Promise<void> {
  const { at } = now;
  for (const role of dashboardRoles) {
    const body = { name: role, role, password: hash, createdAt: at, validFrom: at };
    await ledger.create("account", role, { state: "active", body, group: "accounts" });
  }
}

/** `name=value` of the cookie that an answer sets last. */
export function cookieIn({ headers }: Answer): string {
  return [headers["set-cookie"] ?? []].flat().at(-1)?.split(";")[0] ?? "";
}
