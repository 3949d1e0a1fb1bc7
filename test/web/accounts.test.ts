/** People who sign in with a password: sessions, forged requests, proxies that lie, and brute force. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { safePath } from "../../src/web/accounts/safe-path.ts";
import {
  type AccountsWorld,
  addAccountOfEachRole,
  cookieIn,
  createAccountsWorld,
  password,
  publicHost,
} from "./accounts-world.ts";
import { token } from "./dashboard-world.ts";

let world: AccountsWorld;
beforeEach(async () => {
  world = await createAccountsWorld();
  await addAccountOfEachRole(world);
});
afterEach(() => world.close());

describe("signing in", () => {
  test("a person comes back to the page that was wanted, with a cookie that scripts and other hosts can't use", async () => {
    const asked = await world.ask("GET", "/dashboard", { accept: "text/html" });
    expect([asked.status, asked.headers.location]).toEqual([303, "/sign-in?to=%2Fdashboard"]);
    const page = await world.ask("GET", "/sign-in?to=%2Fdashboard");
    expect(page.text).toContain("Sign in to Remora");
    expect(page.headers["content-security-policy"]).toContain("form-action 'self'");
    expect(page.headers["cache-control"]).toBe("no-store");
    const answer = await world.signIn("viewer");
    expect([answer.status, answer.headers.location]).toEqual([303, "/dashboard"]);
    const cookie = [answer.headers["set-cookie"]].flat().join();
    expect(cookie).toMatch(/^__Host-remora-session=.*Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const me = await world.ask("GET", "/dashboard/data/me", { cookie: cookieIn(answer) });
    expect(JSON.parse(me.text)).toMatchObject({ name: "viewer", identity: "account:viewer", role: "viewer" });
    expect([me.headers["cache-control"], me.headers.vary]).toEqual(["no-store", "Cookie"]);
    expect(world.audit.lines).toMatchObject([{ name: "session.changed", fields: { change: "signed-in" } }]);
  });

  test("at the machine, without the token, the answer names the address to sign in", async () => {
    const signIn = new URL("/sign-in", world.url).href;
    const program = await fetch(new URL("/dashboard", world.url));
    expect(program.status).toBe(401);
    expect(await program.text()).toContain(`With an account, sign in at ${signIn}\n`);
    const browser = await fetch(new URL("/dashboard", world.url), { headers: { accept: "text/html" } });
    expect(await browser.text()).toContain('<a href="/sign-in">Sign in</a>');
  });

  test("an old password opens no session that lasts, also if it is changed while it is checked", async () => {
    const { ledger } = world;
    let change = async () => {};
    const late = await createAccountsWorld({
      ledger: {
        ...ledger,
        async get(kind, id) {
          const entry = await ledger.get(kind, id);
          if (kind === "account" && id === "viewer") await change();
          return entry;
        },
      },
    });
    change = async () => {
      change = async () => {};
      late.now.at += 1_000;
      await late.accounts.local.setPassword("viewer", "another battery staple");
      late.now.at += 1_000;
    };
    const cookie = cookieIn(await late.signIn("viewer"));
    expect((await late.ask("GET", "/dashboard/data/me", { cookie })).status).toBe(401);
    const renewed = cookieIn(await late.signIn("viewer", "another battery staple"));
    expect((await late.ask("GET", "/dashboard/data/me", { cookie: renewed })).status).toBe(200);
    await late.close();
  });

  test("a wrong name and a wrong password get the same answer", async () => {
    const [name, given] = [await world.signIn("nobody"), await world.signIn("viewer", "not the password")];
    expect([name.status, given.status]).toEqual([401, 401]);
    expect(name.text).toBe(given.text);
    expect(name.text).toContain("The name or the password is wrong.");
  });

  test("after ten attempts from one address, the next ones wait, also with the right password", async () => {
    for (let count = 0; count < 10; count++) expect((await world.signIn("viewer", "wrong password")).status).toBe(401);
    const refused = await world.signIn("viewer");
    expect(refused.status).toBe(429);
    expect(refused.text).toContain("There were too many attempts to sign in. Try again in 15 minutes.");
    expect((await world.signIn("viewer", password, { "x-forwarded-for": "203.0.113.10" })).status).toBe(303);
    world.now.at += 15 * 60_000;
    expect((await world.signIn("viewer")).status).toBe(303);
  });

  test("an address that a client writes into X-Forwarded-For makes no new person of it", async () => {
    for (let count = 0; count < 10; count++)
      await world.signIn("viewer", "wrong password", { "x-forwarded-for": `198.51.100.${count}, 203.0.113.9` });
    expect((await world.signIn("viewer")).status).toBe(429);
  });

  test("nor does it behind a proxy that writes something else than an address", async () => {
    for (const name of ["viewer", "approver"])
      for (let count = 0; count < 5; count++)
        await world.signIn(name, "wrong password", { "x-forwarded-for": `198.51.100.${name.length + count}, unknown` });
    expect((await world.signIn("viewer", password, { "x-forwarded-for": "198.51.100.99, unknown" })).status).toBe(429);
  });

  test("many addresses can't try one account without end", async () => {
    for (let count = 0; count < 30; count++)
      expect((await world.signIn("viewer", "wrong", { "x-forwarded-for": `203.0.113.${count + 20}` })).status).toBe(
        401,
      );
    expect((await world.signIn("viewer", password, { "x-forwarded-for": "203.0.113.99" })).status).toBe(429);
  });

  test("a form of another site is refused", async () => {
    for (const other of ["https://evil.example", "null", `http://${publicHost}`])
      expect((await world.signIn("viewer", password, { origin: other })).status).toBe(400);
  });

  test("a planted session is not taken over: the cookie is new, and the old session ends", async () => {
    const planted = cookieIn(await world.signIn("viewer"));
    const own = cookieIn(await world.signIn("operator", password, { cookie: planted }));
    expect(own).not.toBe(planted);
    expect((await world.ask("GET", "/dashboard/data/me", { cookie: planted })).status).toBe(401);
    expect((await world.ask("GET", "/dashboard/data/me", { cookie: own })).status).toBe(200);
  });
});

test.each([
  ["/dashboard?tab=1", "/dashboard?tab=1"],
  ["//evil.example", "/dashboard"],
  ["/\\evil.example", "/dashboard"],
  ["/\t/evil.example", "/dashboard"],
  ["https://evil.example", "/dashboard"],
  ["javascript:alert(1)", "/dashboard"],
  ["/sign-out", "/dashboard"],
  ["/dashboard/../sign-out", "/dashboard"],
  ["", "/dashboard"],
])("after signing in, %j leads to %j", (wanted, path) => expect(safePath(wanted)).toBe(path));

describe("sessions", () => {
  const me = async (cookie: string) => (await world.ask("GET", "/dashboard/data/me", { cookie })).status;

  test("end without use, after their time, and when the browser signs out", async () => {
    const idle = cookieIn(await world.signIn("viewer"));
    world.now.at += 11 * 3_600_000;
    expect(await me(idle)).toBe(200);
    world.now.at += 11 * 3_600_000;
    expect(await me(idle)).toBe(200);
    world.now.at += 13 * 3_600_000;
    expect(await me(idle)).toBe(401);
    const used = cookieIn(await world.signIn("viewer"));
    for (let hours = 0; hours < 7 * 24; hours += 8) {
      expect(await me(used)).toBe(200);
      world.now.at += 8 * 3_600_000;
    }
    world.now.at += 1;
    expect(await me(used)).toBe(401);
    const browser = await world.browserOf("viewer");
    expect((await world.ask("POST", "/sign-out", browser, "{}")).status).toBe(200);
    expect(await me(browser.cookie ?? "")).toBe(401);
  });

  test("end everywhere at once, and when the account goes or its password changes", async () => {
    const [one, two] = [await world.browserOf("viewer"), await world.browserOf("viewer")];
    expect((await world.ask("POST", "/sign-out/everywhere", two, "{}")).status).toBe(200);
    expect(await me(one.cookie ?? "")).toBe(401);
    const third = cookieIn(await world.signIn("viewer"));
    world.now.at += 1;
    await world.accounts.local.setPassword("viewer", "another long password");
    expect(await me(third)).toBe(401);
    const fourth = cookieIn(await world.signIn("viewer", "another long password"));
    await world.accounts.local.remove("viewer");
    expect(await me(fourth)).toBe(401);
    world.now.at += 1;
    await world.accounts.local.add("viewer", "viewer", password);
    expect(await me(fourth)).toBe(401);
  });

  test("the ledger holds neither the cookie nor the password", async () => {
    const cookie = cookieIn(await world.signIn("viewer"));
    const kept = JSON.stringify([await world.ledger.list("session", {}), await world.ledger.list("account", {})]);
    expect(kept).not.toContain(cookie.split("=")[1]);
    expect(kept).not.toContain(password);
  });

  test.each(["", "x", "A".repeat(43), "A".repeat(10_000)])("a made-up cookie %.20j opens nothing", async (secret) => {
    expect(await me(`__Host-remora-session=${secret}`)).toBe(401);
  });
});

describe("forged requests", () => {
  test("a change needs this origin and the session's own token", async () => {
    const browser = await world.browserOf("operator");
    const other = await world.browserOf("operator");
    const reload = (headers: Record<string, string>) => world.ask("POST", "/dashboard/skills/reload", headers, "{}");
    expect((await reload(browser)).status).toBe(200);
    expect((await reload({ ...browser, origin: "https://evil.example" })).status).toBe(403);
    const { origin: _origin, ...without } = browser;
    expect((await reload(without)).status).toBe(403);
    expect((await reload({ ...browser, "x-remora-csrf": "" })).status).toBe(403);
    expect((await reload({ ...browser, "x-remora-csrf": other["x-remora-csrf"] ?? "" })).status).toBe(403);
  });
});

describe("where requests come from", () => {
  test("the token counts at the machine only", async () => {
    for (const path of [`/dashboard?token=${token}`, "/dashboard/data"]) {
      const answer = await world.ask("GET", path, { authorization: `Bearer ${token}` });
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("only at the machine")]);
    }
    expect((await world.get("/dashboard/data")).status).toBe(200);
  });

  test.each([
    ["another name", { host: "evil.example" }, "answers only as"],
    ["a name that the proxy was told by a client", { "x-forwarded-host": "evil.example" }, "answers only as"],
    ["no HTTPS", { "x-forwarded-proto": "http" }, "is reached over HTTPS"],
  ])("%s is refused", async (_what, headers, words) => {
    const answer = await world.ask("GET", "/sign-in", headers);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(words)]);
  });

  test("a proxy that does not pass on the name is told so, and lets nobody in with the token", async () => {
    const host = new URL(world.url).host;
    const answer = await world.ask("GET", "/dashboard/data", { host, authorization: `Bearer ${token}` });
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("did not pass on the name")]);
  });

  test("readiness and metrics stay at the machine", async () => {
    const statuses = await Promise.all(["/healthz", "/readyz", "/metrics"].map((path) => world.ask("GET", path)));
    expect(statuses.map(({ status }) => status)).toEqual([200, 401, 401]);
  });
});
