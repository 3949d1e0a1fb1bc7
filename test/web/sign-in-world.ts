/** The dashboard's server with a double of Slack, Discord and another OpenID provider, and browsers that sign in there. */
import { expect } from "vitest";
import type { AccountsOptions } from "../../src/web/accounts/accounts.ts";
import { createIdentityProvider, type IdentityProvider, type ProviderKind } from "../doubles/identity/provider.ts";
import { type AccountsWorld, type Answer, cookieIn, createAccountsWorld, publicHost } from "./accounts-world.ts";

export const kinds = ["slack", "discord", "oidc"] as const;
export const serviceNames = { slack: "Slack", discord: "Discord", oidc: "Example" };
export const clientSecret = "the secret of the client";
const team = "T0123ABCD";

/** What each service says of Ann, and who she is here. */
export const people = {
  slack: { sub: "U0ANN", name: "Ann", "https://slack.com/user_id": "U0ANN", "https://slack.com/team_id": team },
  discord: { id: "80351110224678912", username: "ann", global_name: "Ann" },
  oidc: { sub: "subject-of-ann", name: "Ann" },
};
export const identities = {
  slack: "slack:U0ANN",
  discord: "discord:80351110224678912",
  oidc: "oidc:subject-of-ann",
};

export type Providers = Record<ProviderKind, IdentityProvider>;

export async function createProviders(): Promise<Providers> {
  const create = (kind: ProviderKind) =>
    createIdentityProvider({
      ...{ kind, clientId: `client of ${kind}`, clientSecret },
      redirectUri: `https://${publicHost}/sign-in/callback/${kind}`,
      ...(kind === "slack" ? { team } : {}),
      ...(kind === "oidc" ? { scope: "openid profile groups" } : {}),
    });
  return { slack: await create("slack"), discord: await create("discord"), oidc: await create("oidc") };
}

export interface SignInWorld extends AccountsWorld {
  /** Begins in a new browser. `cookie` is what this browser then sends. */
  begin(kind: ProviderKind, to?: string): Promise<{ cookie: string; address: string }>;
  /** What the service answers to the browser: the way back, with code and state. */
  visit(address: string): Promise<URL>;
  comeBack(back: URL, cookie: string): Promise<Answer>;
  signInWith(kind: ProviderKind, to?: string): Promise<Answer>;
  /** Nobody is signed in after this answer. */
  expectRefused(answer: Answer, status: number, words: string): Promise<void>;
}

/** The providers outlive the world. Each begins as one that Ann uses. Worlds with one ledger are processes. */
export async function createSignInWorld(
  providers: Providers,
  changes: Partial<AccountsOptions> = {},
): Promise<SignInWorld> {
  for (const kind of kinds)
    Object.assign(providers[kind], { person: people[kind], tampering: {}, authorizations: [], exchanges: [] });
  const client = (kind: ProviderKind) => ({ clientId: `client of ${kind}`, clientSecret });
  const world = await createAccountsWorld({
    roles: () => ({ [identities.slack]: "operator", [identities.discord]: "approver", [identities.oidc]: "viewer" }),
    claimRoles: { admins: "operator", staff: "viewer" },
    services: {
      slack: { ...client("slack"), team, issuer: providers.slack.url },
      discord: { ...client("discord"), apiUrl: `${providers.discord.url}/api` },
      oidc: {
        ...client("oidc"),
        name: "Example",
        issuer: providers.oidc.url,
        scopes: ["profile", "groups"],
        rolesClaim: "groups",
      },
    },
    ...changes,
  });

  const begin: SignInWorld["begin"] = async (kind, to = "/dashboard") => {
    const answer = await world.ask("GET", `/sign-in/${kind}?to=${encodeURIComponent(to)}`);
    expect(answer.status).toBe(303);
    return { cookie: cookieIn(answer), address: String(answer.headers.location) };
  };
  const comeBack: SignInWorld["comeBack"] = (back, cookie) => world.ask("GET", back.pathname + back.search, { cookie });

  return Object.assign(world, {
    ...{ begin, visit, comeBack },
    async signInWith(kind: ProviderKind, to?: string) {
      const { cookie, address } = await begin(kind, to);
      return await comeBack(await visit(address), cookie);
    },
    async expectRefused(answer: Answer, status: number, words: string) {
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
      expect([answer.headers["set-cookie"]].flat().join()).not.toContain("remora-session");
      expect(await world.ledger.list("session", {})).toEqual([]);
    },
  });
}

async function visit(address: string): Promise<URL> {
  const response = await fetch(address, { redirect: "manual" });
  expect([response.status, await response.text()]).toEqual([302, ""]);
  return new URL(response.headers.get("location") ?? "");
}
