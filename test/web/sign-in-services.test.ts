/** Signing in through Slack, Discord and another OpenID provider, with the real client library, and the attacks on it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cookieIn, publicHost } from "./accounts-world.ts";
import {
  createProviders,
  createSignInWorld,
  identities,
  kinds,
  type Providers,
  people,
  type SignInWorld,
  serviceNames,
} from "./sign-in-world.ts";

const staleWords = "This attempt to sign in is too old, was used already, or began in another browser. Try again.";

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

describe.each(kinds)("through %s", (kind) => {
  const name = serviceNames[kind];
  const unverified = `The answer of ${name} could not be verified. Try again.`;

  test("a person signs in with one click, comes back to the wanted page, and has the role of the settings", async () => {
    expect((await world.ask("GET", "/sign-in")).text).toContain(`Sign in with ${name}`);
    const { cookie, address } = await world.begin(kind, "/dashboard?tab=1");
    const answer = await world.comeBack(await world.visit(address), cookie);
    expect([answer.status, answer.headers.location]).toEqual([303, "/dashboard?tab=1"]);
    const own = cookieIn(answer);
    expect(own).toMatch(/^__Host-remora-session=/);
    const me = JSON.parse((await world.ask("GET", "/dashboard/data/me", { cookie: own })).text);
    const role = { slack: "operator", discord: "approver", oidc: "viewer" }[kind];
    expect(me).toMatchObject({ name: "Ann", identity: identities[kind], role });
    expect(world.audit.lines).toMatchObject([
      { name: "session.changed", fields: { identity: identities[kind], change: "signed-in" } },
    ]);
    expect(providers[kind].exchanges).toEqual(["ok"]);
    const kept = JSON.stringify([await world.ledger.list("session", {}), await world.ledger.list("sign-in", {})]);
    expect(kept).not.toContain("access-");
  });

  test("a state that is forged, missing, of another browser or too old lets nobody in", async () => {
    const { cookie, address } = await world.begin(kind);
    const back = await world.visit(address);
    const forged = new URL(back);
    forged.searchParams.set("state", "A".repeat(43));
    await world.expectRefused(await world.comeBack(forged, cookie), 400, staleWords);
    const without = new URL(back);
    without.searchParams.delete("state");
    await world.expectRefused(await world.comeBack(without, cookie), 400, staleWords);
    const other = await world.begin(kind);
    await world.expectRefused(await world.comeBack(back, other.cookie), 400, staleWords);
    await world.expectRefused(await world.comeBack(back, ""), 400, staleWords);
    world.now.at += 10 * 60_000 + 1;
    await world.expectRefused(await world.comeBack(back, cookie), 400, staleWords);
    expect(providers[kind].exchanges).toEqual([]);
  });

  test("what others try with the address of the way back does not spoil it for its own browser", async () => {
    const { cookie, address } = await world.begin(kind);
    const back = await world.visit(address);
    const forged = new URL(back);
    forged.searchParams.set("state", "A".repeat(43));
    const answer = await world.comeBack(forged, cookie);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    await world.comeBack(back, "");
    expect((await world.comeBack(back, cookie)).status).toBe(303);
  });

  test("a way back counts once, and not at another service", async () => {
    const { cookie, address } = await world.begin(kind);
    const back = await world.visit(address);
    const elsewhere = new URL(back);
    elsewhere.pathname = `/sign-in/callback/${kinds.find((other) => other !== kind)}`;
    await world.expectRefused(await world.comeBack(elsewhere, cookie), 400, staleWords);
    const [one, two] = await Promise.all([world.comeBack(back, cookie), world.comeBack(back, cookie)]);
    expect([one.status, two.status].sort()).toEqual([303, 400]);
    expect((await world.comeBack(back, cookie)).status).toBe(400);
    expect(providers[kind].exchanges).toEqual(["ok"]);
  });

  test("a code that was used, or that somebody else was given, lets nobody in", async () => {
    const used = await world.begin(kind);
    const back = await world.visit(used.address);
    const session = cookieIn(await world.comeBack(back, used.cookie));
    await world.accounts.sessions.endAll(identities[kind]);
    expect((await world.ask("GET", "/dashboard/data/me", { cookie: session })).status).toBe(401);
    await world.ledger.prune("session", ["ended"], Date.now() + 1_000);
    const again = await world.begin(kind);
    const withOld = await world.visit(again.address);
    withOld.searchParams.set("code", back.searchParams.get("code") ?? "");
    await world.expectRefused(await world.comeBack(withOld, again.cookie), 401, unverified);

    const [attacker, victim] = [await world.begin(kind), await world.begin(kind)];
    const stolen = (await world.visit(attacker.address)).searchParams.get("code") ?? "";
    const injected = await world.visit(victim.address);
    injected.searchParams.set("code", stolen);
    await world.expectRefused(await world.comeBack(injected, victim.cookie), 401, unverified);
  });

  test("a person who says no at the service reads that, and can try again", async () => {
    const { cookie, address } = await world.begin(kind);
    const state = (await world.visit(address)).searchParams.get("state") ?? "";
    const back = new URL(`https://${publicHost}/sign-in/callback/${kind}?error=access_denied&state=${state}`);
    await world.expectRefused(await world.comeBack(back, cookie), 401, `${name} did not sign you in.`);
    expect((await world.signInWith(kind)).status).toBe(303);
  });

  test("a person without a role reads the identity to send to the operator, and is not signed in", async () => {
    const changed = {
      slack: { ...people.slack, sub: "U0EVE", "https://slack.com/user_id": "U0EVE" },
      discord: { ...people.discord, id: "99" },
      oidc: { ...people.oidc, sub: "<b>eve</b>" },
    };
    providers[kind].person = changed[kind];
    const shown = { slack: "slack:U0EVE", discord: "discord:99", oidc: "oidc:&lt;b&gt;eve&lt;/b&gt;" }[kind];
    await world.expectRefused(await world.signInWith(kind), 403, shown);
  });

  test("the way back never leads to another site", async () => {
    for (const to of ["https://evil.example", "//evil.example", "/\\evil.example", "/sign-out"])
      expect((await world.signInWith(kind, to)).headers.location).toBe("/dashboard");
  });

  test("a name has no hidden characters and one line", async () => {
    const name = `A\u202enn\n${"x".repeat(200)}`;
    providers[kind].person = kind === "discord" ? { ...people.discord, global_name: name } : { ...people[kind], name };
    const cookie = cookieIn(await world.signInWith(kind));
    const me = JSON.parse((await world.ask("GET", "/dashboard/data/me", { cookie })).text) as { name: string };
    expect(me.name).toMatch(/^Ann x+…?$/);
    expect(me.name.length).toBeLessThanOrEqual(101);
  });
});

test("one address can't begin without end, and an old session of the browser ends with the new sign-in", async () => {
  const { cookie, address } = await world.begin("slack");
  const planted = await world.accounts.sessions.begin({ platform: "oidc", id: "subject-of-ann", name: "Ann" });
  const both = `${cookie}; __Host-remora-session=${planted}`;
  expect((await world.comeBack(await world.visit(address), both)).status).toBe(303);
  expect(await world.accounts.sessions.find(planted)).toBeUndefined();
  for (let count = 1; count < 30; count++) await world.begin("slack");
  const refused = await world.ask("GET", "/sign-in/slack");
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining("too many attempts")]);
});

test("who has left the chat service is out everywhere within minutes, and stays in while it can't say", async () => {
  const there: Record<string, boolean | "unknown"> = { "slack:U0ANN": true };
  await world.close();
  world = await createSignInWorld(providers, {
    isStillThere: async (person) => {
      const is = there[`${person.platform}:${person.id}`] ?? true;
      if (is === "unknown") throw new Error("unreachable");
      return is;
    },
  });
  const [one, two] = [cookieIn(await world.signInWith("slack")), cookieIn(await world.signInWith("slack"))];
  const statusOf = async (cookie: string) => (await world.ask("GET", "/dashboard/data/me", { cookie })).status;
  expect([await statusOf(one), await statusOf(two)]).toEqual([200, 200]);
  there["slack:U0ANN"] = "unknown";
  world.now.at += 5 * 60_000;
  expect(await statusOf(one)).toBe(200);
  there["slack:U0ANN"] = false;
  world.now.at += 5 * 60_000;
  expect([await statusOf(one), await statusOf(two)]).toEqual([401, 401]);
  there["slack:U0ANN"] = true;
  world.now.at += 5 * 60_000;
  expect([await statusOf(one), await statusOf(two)]).toEqual([401, 401]);
  expect((await world.signInWith("slack")).status).toBe(303);
});
