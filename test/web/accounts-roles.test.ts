/** What each role sees and does: every endpoint, cards, schedules, and the audit log. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ShownSchedule } from "../../src/ports/schedule.ts";
import { dashboardRoles } from "../../src/ports/visitor.ts";
import { leastRoleFor } from "../../src/web/accounts/endpoint-roles.ts";
import { person } from "../approvals/approvals-fixture.ts";
import { type AccountsWorld, addAccountOfEachRole, createAccountsWorld, password } from "./accounts-world.ts";
import { cardWith, token } from "./dashboard-world.ts";

let world: AccountsWorld;
beforeEach(async () => {
  world = await createAccountsWorld();
  await addAccountOfEachRole(world);
});
afterEach(() => world.close());

describe("roles", () => {
  test("every registered endpoint needs the role of the table, and one without a rule is closed", async () => {
    world.server.app.get("/dashboard/data/forgotten/one", (context) => context.text("open"));
    const browsers = new Map<string, Record<string, string>>();
    for (const role of dashboardRoles) browsers.set(role, await world.browserOf(role));
    const seen = new Set<string>();
    for (const { method, path } of world.server.app.routes) {
      if (method === "ALL" || path.startsWith("/sign-") || ["/healthz", "/readyz", "/metrics"].includes(path)) continue;
      const at = path.replaceAll(/:(\w+)/g, "x1").replace("*", "lit-html.js");
      const least = leastRoleFor(method, at);
      seen.add(`${method} ${path}`);
      for (const role of dashboardRoles) {
        const { status, text } = await world.ask(method, at, browsers.get(role), method === "GET" ? "" : "{}");
        const isOpen = least !== undefined && dashboardRoles.indexOf(role) >= dashboardRoles.indexOf(least);
        expect([role, method, at, status === 403]).toEqual([role, method, at, !isOpen]);
        if (!isOpen) expect(text).toMatch(/Your role|Only the person at the machine/);
      }
      expect((await world.ask(method, at)).status).toBe(401);
    }
    expect(seen.size).toBeGreaterThan(25);
    expect(leastRoleFor("GET", "/dashboard/data/forgotten/one")).toBeUndefined();
    for (const path of ["/dashboard/data/", "/dashboard/data//me", "/dashboard/data/turns/a/b/c", "/local/api/state"])
      expect(leastRoleFor("GET", path)).toBeUndefined();
  });

  test("no other spelling of a path, method or key gives a viewer what an operator sees", async () => {
    const { cookie = "" } = await world.browserOf("viewer");
    const open = await world.ask("GET", "/dashboard/data/settings", await world.browserOf("operator"));
    expect(open.status).toBe(200);
    const paths = [
      ...[
        "/dashboard/data%2Fsettings",
        "/dashboard/data/%73ettings",
        "//dashboard/data/settings",
        "/dashboard/data/settings/",
      ],
      ...[
        "/dashboard/data/./settings",
        "/dashboard/me/../data/settings",
        "/dashboard/data/settings;a=1",
        "/dashboard/data/settings%00",
      ],
      ...[
        "/dashboard/vendor/..%2fdata%2fsettings",
        "/dashboard/pages/..%2F..%2Fdata%2Fsettings",
        "/DASHBOARD/data/settings",
      ],
    ];
    const headers = [
      {},
      { "x-original-url": "/dashboard/data/settings", "x-rewrite-url": "/dashboard/data/settings" },
      { "x-http-method-override": "GET", "x-api-key": token, authorization: `Bearer ${token}` },
    ];
    for (const path of ["/dashboard/data/settings", ...paths]) {
      for (const more of headers) {
        const { status, text } = await world.ask("GET", path, { cookie, ...more });
        expect([path, status === 200 && text === open.text]).toEqual([path, false]);
      }
    }
  });

  test("a viewer sees no turn, card, call or person", async () => {
    world.cards = [cardWith("a1")];
    const { cookie = "" } = await world.browserOf("viewer");
    const now = JSON.parse((await world.ask("GET", "/dashboard/data", { cookie })).text);
    expect(now).toMatchObject({ approvals: [], live: { turns: [] } });
    const usage = JSON.parse((await world.ask("GET", "/dashboard/data/usage", { cookie })).text);
    expect(usage).toMatchObject({ people: [], channels: [], isTotalsOnly: true });
  });

  test("an approver sees and answers as that person, and only what that person may answer", async () => {
    world.cards = [cardWith("a1"), cardWith("a2")];
    world.answerable = ["a2"];
    const browser = await world.browserOf("approver");
    const now = JSON.parse((await world.ask("GET", "/dashboard/data", browser)).text);
    expect(now.approvals.map(({ id }: { id: string }) => id)).toEqual(["a2"]);
    expect((await world.ask("GET", "/dashboard/diffs/a1", browser)).status).toBe(404);
    const body = JSON.stringify({ cardOrApprovalId: "a1", choice: "approve" });
    await world.ask("POST", "/dashboard/answers", browser, body);
    expect(world.decisions).toEqual([]);
    expect(world.decidedAs).toMatchObject([{ platform: "account", by: { id: "approver" }, cardOrApprovalId: "a1" }]);
  });

  test("a person sees schedules of conversations that they can read, and a page that stays open asks once", async () => {
    const asked: string[] = [];
    const schedule = (id: string): ShownSchedule => ({
      ...{ id, purpose: "remind", text: `look at ${id}`, conversationId: `slack:T1:${id}`, nextAt: 1 },
      ...{ platform: "slack", scope: "channel:C1", createdAt: 1 },
      ...{ owner: person("ann"), time: { type: "once", at: 1 } },
    });
    const other = await createAccountsWorld(
      {},
      {
        schedules: { all: async () => [schedule("C1"), schedule("C2")], end: async () => false },
        mayRead: async (id) => {
          asked.push(id);
          return id.endsWith("C1");
        },
      },
    );
    await other.accounts.local.add("viewer", "viewer", password);
    const { cookie = "" } = await other.browserOf("viewer");
    for (let count = 0; count < 3; count++) {
      const shown = JSON.parse((await other.ask("GET", "/dashboard/data/schedules", { cookie })).text);
      expect(shown).toMatchObject({ schedules: [{ text: "look at C1" }], count: 1, hidden: 1 });
    }
    expect(asked).toEqual(["slack:T1:C1", "slack:T1:C2"]);
    await other.close();
  });

  test("a changed role counts at once", async () => {
    const browser = await world.browserOf("operator");
    await world.accounts.local.setRole("operator", "viewer");
    expect((await world.ask("POST", "/dashboard/skills/reload", browser, "{}")).status).toBe(403);
  });

  test("an operator's action names the person in the audit log", async () => {
    const browser = await world.browserOf("operator");
    await world.ask("POST", "/dashboard/skills/reload", browser, "{}");
    expect(world.audit.lines.at(-1)).toMatchObject({ fields: { by: { id: "account:operator", name: "operator" } } });
  });
});
