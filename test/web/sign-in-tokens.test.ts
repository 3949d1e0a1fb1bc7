/** What the services say about people who sign in: tokens that are not as they must be, other workspaces, roles from claims. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tampering } from "../doubles/identity/provider.ts";
import { cookieIn } from "./accounts-world.ts";
import {
  clientSecret,
  createProviders,
  createSignInWorld,
  kinds,
  type Providers,
  people,
  type SignInWorld,
  serviceNames,
} from "./sign-in-world.ts";

let providers: Providers;
let world: SignInWorld;
beforeAll(async () => {
  providers = await createProviders();
});
afterAll(() => Promise.all(kinds.map((kind) => providers[kind].close())));
beforeEach(async () => {
  world = await createSignInWorld(providers);
});
afterEach(() => world.close());

describe.each(["slack", "oidc"] as const)("an ID token through %s", (kind) => {
  const at = Math.floor(Date.now() / 1_000);
  test.each<[string, Tampering]>([
    ["with another nonce", { claims: { nonce: "of another attempt" } }],
    ["without a nonce", { claims: { nonce: undefined } }],
    ["of another issuer", { claims: { iss: "https://evil.example" } }],
    ["for another client", { claims: { aud: "another client" } }],
    ["for several clients, given to another one", { claims: { aud: [`client of ${kind}`, "x"], azp: "x" } }],
    ["that has expired", { claims: { iat: at - 7_200, exp: at - 3_600 } }],
    ["without an expiry", { claims: { exp: undefined } }],
    ["without a subject", { claims: { sub: undefined } }],
    ["without a signature", { signing: "none" }],
    ["signed with another key", { signing: "other key" }],
    ["signed with the client's secret", { signing: { secret: clientSecret } }],
    ["that is missing", { hasNoIdToken: true }],
  ])("%s lets nobody in", async (_what, tampering) => {
    providers[kind].tampering = tampering;
    await world.expectRefused(
      await world.signInWith(kind),
      401,
      `The answer of ${serviceNames[kind]} could not be verified.`,
    );
    providers[kind].tampering = {};
    expect((await world.signInWith(kind)).status).toBe(303);
  });
});

describe("Slack", () => {
  test("refuses people of another workspace, whose ids mean somebody else", async () => {
    providers.slack.person = { ...people.slack, "https://slack.com/team_id": "T0OTHER" };
    await world.expectRefused(await world.signInWith("slack"), 401, "You signed in with another Slack workspace.");
  });

  test("offers its own workspace, and gets no PKCE, which it does not take with a secret", async () => {
    await world.signInWith("slack");
    const [params = {}] = providers.slack.authorizations;
    expect(Object.keys(params).sort()).toEqual(
      ["client_id", "nonce", "redirect_uri", "response_type", "scope", "state", "team"].sort(),
    );
  });

  test("claims that are no ids of Slack let nobody in", async () => {
    providers.slack.person = { ...people.slack, "https://slack.com/user_id": "U0ANN\nslack:U0BEN" };
    await world.expectRefused(await world.signInWith("slack"), 401, "could not be verified");
  });
});

describe("Discord", () => {
  test.each([401, 500, 302])("lets nobody in when it answers %i about the person", async (userStatus) => {
    providers.discord.tampering = { userStatus };
    await world.expectRefused(await world.signInWith("discord"), 401, "The answer of Discord could not be verified.");
  });

  test("a person without a display name has the username", async () => {
    providers.discord.person = { id: people.discord.id, username: "ann", global_name: null };
    const cookie = cookieIn(await world.signInWith("discord"));
    expect((await world.ask("GET", "/dashboard/data/me", { cookie })).text).toContain('"name":"ann"');
  });
});

describe("another provider", () => {
  test("the answer of one provider does not count as that of another (mix-up)", async () => {
    for (const kind of ["oidc", "discord"] as const) {
      providers[kind].tampering = { issuer: "https://evil.example" };
      await world.expectRefused(await world.signInWith(kind), 401, "could not be verified");
      expect(providers[kind].exchanges).toEqual([]);
    }
  });

  test.each<[unknown, string | undefined]>([
    [["staff", "admins"], "operator"],
    ["staff", "viewer"],
    [["others", 7, null], undefined],
    [{ admins: true }, undefined],
    [["__proto__", "constructor"], undefined],
  ])("a claim %j gives the role %s", async (groups, role) => {
    providers.oidc.person = { sub: "ben", name: "Ben", groups };
    const answer = await world.signInWith("oidc");
    if (role === undefined) return await world.expectRefused(answer, 403, "oidc:ben");
    const me = await world.ask("GET", "/dashboard/data/me", { cookie: cookieIn(answer) });
    expect(JSON.parse(me.text)).toMatchObject({ identity: "oidc:ben", role });
  });

  test("that is not there is said at once, and works as soon as it is back", async () => {
    providers.oidc.tampering = { isDown: true };
    const answer = await world.ask("GET", "/sign-in/oidc");
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("Example can&#39;t be reached.")]);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    providers.oidc.tampering = {};
    expect((await world.signInWith("oidc")).status).toBe(303);
  });

  test("a service that is not configured, or none at all, is no page", async () => {
    for (const path of ["/sign-in/github", "/sign-in/callback/github?code=x&state=y", "/sign-in/__proto__"])
      expect((await world.ask("GET", path)).status).toBe(404);
  });
});
