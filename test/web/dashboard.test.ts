import type { Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { browserNote, missingBrowser, openTabs, type Tabs } from "../doubles/browser.ts";
import { inboundMessage } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import {
  addTurn,
  asProgram,
  cardWith,
  changesCard,
  createDashboardWorld,
  type DashboardWorld,
  token,
} from "./dashboard-world.ts";

let world: DashboardWorld;

beforeEach(async () => {
  world = await createDashboardWorld();
});
afterEach(() => world.close());

test("page, files and data need the token", async () => {
  for (const path of [
    "",
    "/data",
    "/data/turns",
    "/dashboard.js",
    "/pages/now.js",
    "/vendor/lit-html.js",
    "/vendor/diff-lines.js",
    "/vendor/format-usage.mjs",
  ]) {
    expect((await world.get(`/dashboard${path}`, {})).status).toBe(401);
    expect((await world.get(`/dashboard${path}`)).status).toBe(200);
  }
});

test("nothing but the dashboard's own files and lit-html's scripts is served", async () => {
  for (const path of [
    "/dashboard/../dashboard.ts",
    "/dashboard/%2e%2e/dashboard.ts",
    "/dashboard/..%2fserver.ts",
    "/dashboard/vendor/package.json",
    "/dashboard/vendor/%2e%2e/hono/package.json",
    "/dashboard/vendor/node/lit-html.js",
  ]) {
    expect((await world.get(path)).status).toBe(404);
  }
});

const wanted = { cardOrApprovalId: "a1", choice: "deny", reason: "no" };

test("an answer needs the token, and of a browser this very origin", async () => {
  const answers = "/dashboard/answers";
  expect((await world.post(answers, wanted, {})).status).toBe(401);
  expect((await world.post(answers, wanted, { ...asProgram, origin: "http://evil.example" })).status).toBe(403);
  const signedIn = await fetch(`${world.url}/dashboard?token=${token}`, { redirect: "manual" });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await world.post(answers, wanted, { cookie })).status).toBe(403);
  expect(world.decisions).toEqual([]);
  expect((await world.post(answers, wanted, { cookie, origin: world.url })).status).toBe(200);
  const answered = await world.post(answers, wanted);
  expect(await answered.json()).toEqual({ accepted: true, text: "Denied." });
  expect(world.decisions).toEqual([wanted, wanted]);
});

test.each([
  ["no JSON", "approve"],
  ["no id", { choice: "approve" }],
  ["a choice that is the chat's alone", { ...wanted, choice: "allow" }],
  ["a part without files", { ...wanted, choice: "part" }],
  ["a part with no file", { ...wanted, choice: "part", parts: [] }],
  ["a part with a file that no card has", { ...wanted, choice: "part", parts: [25] }],
  ["files without a part", { ...wanted, parts: [0] }],
  ["somebody else's name", { ...wanted, by: { id: "ann" } }],
])("%s is no answer, and decides nothing", async (_name, body) => {
  const response = await world.post("/dashboard/answers", body);
  expect([response.status, await response.json()]).toMatchObject([400, { accepted: false }]);
  expect(world.decisions).toEqual([]);
});

test("a diff needs the token, and one that is not there is said to be gone", async () => {
  expect((await world.get("/dashboard/diffs/a1", {})).status).toBe(401);
  expect(await (await world.get("/dashboard/diffs/a1")).json()).toEqual({ diff: world.diff });
  expect((await world.get("/dashboard/diffs/a2")).status).toBe(404);
});

test("an answer larger than any is refused", async () => {
  const response = await world.post("/dashboard/answers", { ...wanted, reason: "x".repeat(300_000) });
  expect(response.status).toBe(413);
  expect(world.decisions).toEqual([]);
});

test("an unchanged page costs one empty answer, and a changed one is sent", async () => {
  const first = await world.get("/dashboard/data");
  const etag = first.headers.get("etag") ?? "";
  const same = await world.get("/dashboard/data", { ...asProgram, "if-none-match": etag });
  expect([same.status, await same.text()]).toEqual([304, ""]);
  world.cards = [cardWith("a1")];
  expect((await world.get("/dashboard/data", { ...asProgram, "if-none-match": etag })).status).toBe(200);
});

describe("live turns", () => {
  const running = { id: "t1", messages: [inboundMessage({ text: "look\n\u202Eand see" })] };

  test("say who, what and since when, without characters that hide or turn the text", async () => {
    await addTurn(world.ledger, "running", running);
    await world.ledger.create("message", "m9", { state: "queued", body: inboundMessage({ id: "m9" }), group: "c1" });
    const { live } = (await (await world.get("/dashboard/data")).json()) as { live: { turns: object[] } };
    expect(live.turns).toMatchObject([
      { id: "t1", state: "running", who: "Ann", text: "look and see", doing: "asking the model, step 1" },
      { id: "m9", state: "queued", doing: "number 1 in the queue" },
    ]);
  });

  test("a stop is in the audit as the operator's before it happens; a second click is told that it is over", async () => {
    await addTurn(world.ledger, "running", running);
    const stop = () => world.post("/dashboard/turns/stop", { turnId: "t1" });
    expect(await (await stop()).json()).toMatchObject({ accepted: true });
    await world.ledger.transition("turn", "t1", ["running"], "stopped");
    expect(await (await stop()).json()).toEqual({ accepted: false, text: "This turn has already ended." });
    expect(world.audit.lines[0]).toEqual({ name: "operator.acted", fields: { action: "turn.stop", subject: "t1" } });
  });

  test("without an audit line, nothing is stopped", async () => {
    world.audit.failure = new Error("the disk is full");
    expect((await world.post("/dashboard/turns/stop", { turnId: "t1" })).status).toBe(500);
    expect(world.stopped).toEqual([]);
  });
});

describe.skipIf(missingBrowser !== undefined)(`in a browser${browserNote}`, () => {
  let tabs: Tabs;
  let tab: Page;
  let problems: string[];
  beforeAll(async () => {
    tabs = await openTabs();
  });
  afterEach(() => tabs.closeAll());

  async function open(): Promise<void> {
    tab = await tabs.open();
    problems = [];
    tab.on("pageerror", (error) => problems.push(error.message));
    tab.on("console", (line) => line.type() === "error" && problems.push(line.text()));
    await tab.goto(`${world.url}/dashboard?token=${token}`);
  }

  test("it shows live turns and problems as text, and what changes", async () => {
    world.status = [{ name: "sandbox", state: "warning", detail: "commands run without a sandbox" }];
    await addTurn(world.ledger, "parked", { id: "t1", messages: [inboundMessage({ text: "<b>what is here?</b>" })] });
    await open();
    await tab.getByText("<b>what is here?</b>").waitFor();
    await tab.getByText("commands run without a sandbox").waitFor();
    await tab.getByText("No approvals waiting.").waitFor();
    await tab.getByText("Version 1.2.3, running for").waitFor();
    world.cards = [cardWith("a1")];
    await tab.getByRole("button", { name: "Approve: Run rm notes.txt, asked by Ann" }).waitFor();
    expect(problems).toEqual([]);
  });

  test("the health page shows a model's whole name, and says of a bar with warnings that there were some", async () => {
    const name = "model anthropic/claude-sonnet-5-5-20261101-with-a-long-ending";
    const bad = { name, state: "error" as const, detail: "did not answer: the key was refused" };
    const at = Date.now() - 60_000;
    const changes = [
      { ...bad, role: "all", at: at + 30_000 },
      { ...bad, role: "all", name: "sandbox", state: "warning" as const, at },
      { ...bad, role: "all", name: "queue", state: "ok" as const, at },
    ];
    await world.close();
    world = await createDashboardWorld({ history: { list: async () => ({ changes, older: null }) } });
    world.status = [bad, { ...bad, name: "sandbox", state: "warning" }, { ...bad, name: "queue", state: "ok" }];
    await open();
    await tab.goto(`${world.url}/dashboard#/health`);
    await tab.getByText(/^error for \d+ s since/).waitFor();
    await tab.getByText(/^warning for \d+ s since/).waitFor();
    await tab.getByText(/^no errors since/).waitFor();
    for (const cell of await tab.locator("td > div", { hasText: name }).all())
      expect(await cell.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
    expect(problems).toEqual([]);
  });

  test("a turn says how much of its prompts came from the service's cache, and what it cost", async () => {
    const step = { text: "", calls: [], stop: "end" as const, model: "m", requestedModel: "m", at: 1 };
    const used = (inputTokens: number, cacheReadTokens: number, cacheWriteTokens: number) => ({
      ...{ ...step, cost: 0.00117 },
      usage: { inputTokens, outputTokens: 50, cacheReadTokens, cacheWriteTokens },
    });
    await addTurn(world.ledger, "done", { id: "t1", steps: [used(100, 0, 2_000), used(0, 2_100, 200)] });
    await open();
    await tab.goto(`${world.url}/dashboard#/turns/t1`);
    await tab
      .getByText(
        "4,500 tokens (4,400 in, 100 out; 2,100 of 4,400 from the cache (47 %), 2,200 written to it) · $0.00234",
      )
      .waitFor();
    await tab.getByText("Tokens: 2,100 in, 50 out; nothing from the cache, 2,000 written to it").waitFor();
    expect(problems).toEqual([]);
  });

  test("the list of turns says what became of calls that did not end well", async () => {
    const results = (["ok", "failed", "interrupted", "interrupted", "denied"] as const).map((status, index) => ({
      ...{ callId: `c${index}`, name: "act", status, text: "" },
      ...{ attempts: 1, durationMs: 1, files: [] },
    }));
    const calls = results.map((result) => ({ raw: { id: result.callId, name: "act", inputJson: "{}" }, result }));
    const ended = { stop: "tool-calls" as const, model: "m", requestedModel: "m", usage: noUsage, at: 1 };
    await addTurn(world.ledger, "done", { id: "t1", steps: [{ text: "", calls, ...ended }] });
    await open();
    await tab.goto(`${world.url}/dashboard#/turns`);
    await tab.getByText("1 failed, 2 interrupted, 1 denied").waitFor();
    expect(problems).toEqual([]);
  });

  test("an approval shows the whole call and why it asks, and is answered with the keyboard alone", async () => {
    const long = "x".repeat(5_000);
    const call = `shell_exec\ncommand: "<img src=x onerror=alert(1)> ${long}"`;
    world.cards = [cardWith("a1", { callText: call }), cardWith("a2")];
    await open();
    const row = tab.locator("li.approval").first();
    expect(await row.locator("pre").textContent()).toBe(call);
    await row.getByText("Why this asks").click();
    await row.getByText("Skill shell asks: it may change something. Pattern “rm”.").waitFor();
    await row.getByText("A word mixes alphabets.").waitFor();
    await row.getByText("answers for 2 identical calls").waitFor();
    await row.getByText("Connects to registry.example:443").waitFor();

    await row.getByRole("button", { name: "Approve" }).focus();
    await tab.keyboard.press("Shift+Tab");
    await tab.keyboard.type("not on a Friday");
    // The page looks for news meanwhile; what is half written stays.
    await tab.waitForResponse((response) => response.url().endsWith("/dashboard/data"));
    world.cards = [...world.cards, cardWith("a3", { headline: "Write `a.txt`" })];
    await tab.getByRole("button", { name: "Approve: Write a.txt, asked by Ann" }).waitFor();
    await tab.keyboard.press("Enter");
    await tab.getByRole("status").getByText("Run rm notes.txt: Denied.").waitFor();
    expect(world.decisions).toEqual([{ cardOrApprovalId: "a1", choice: "deny", reason: "not on a Friday" }]);

    world.receipt = { accepted: false, text: "Nothing left to answer. Approved by Ann." };
    await tab.locator("li.approval").nth(2).waitFor({ state: "detached" });
    expect(await tab.locator("li.approval").first().getByRole("textbox").inputValue()).toBe("");
    await tab.getByRole("button", { name: "Approve: Run rm notes.txt" }).focus();
    await tab.keyboard.press("Enter");
    await tab.getByRole("status").getByText("Nothing left to answer. Approved by Ann.").waitFor();
    expect(world.decisions[1]).toEqual({ cardOrApprovalId: "a2", choice: "approve" });
    await tab.locator("li.approval").nth(1).waitFor({ state: "detached" });
  });

  test("changes are shown with files, commands and the diff, and can be kept in part", async () => {
    world.cards = [changesCard("a1"), changesCard("a2")];
    await open();
    const row = tab.locator("li.approval").first();
    const files = row.getByRole("list", { name: "Changed files" }).getByRole("listitem");
    await files.first().waitFor();
    expect((await files.allTextContents()).map((text) => text.trim())).toEqual([
      "deleted <b>old</b>.html −40",
      "added new.html +12",
    ]);
    await row.getByText("npm test — exit code 1").waitFor();
    await row.getByText("1 test failed").waitFor();

    await row.getByRole("button", { name: "Show diff" }).click();
    const shown = tab.getByRole("dialog").getByRole("region", { name: "The whole diff" });
    expect(await shown.textContent()).toBe(world.diff);
    expect(await shown.locator("del").textContent()).toBe("--- <b>old</b>\n");
    await tab.keyboard.press("Escape");
    await tab.getByRole("dialog").waitFor({ state: "detached" });
    await tab.locator("li.approval").nth(1).getByRole("button", { name: "Show diff" }).click();
    await tab.getByText("This is gone.").waitFor();

    await row.getByRole("checkbox", { name: "old" }).uncheck();
    await row.getByRole("checkbox", { name: "new.html" }).uncheck();
    await row.getByRole("button", { name: "Keep 0 of 2" }).click();
    await tab.getByText("To keep none, use “Discard”.").waitFor();
    expect(world.decisions).toEqual([]);
    await row.getByRole("checkbox", { name: "new.html" }).check();
    await row.getByRole("button", { name: "Keep 1 of 2" }).click();
    await expect.poll(() => world.decisions).toEqual([{ cardOrApprovalId: "a1", choice: "part", parts: [1] }]);
    await row.getByRole("button", { name: "Keep: Delete 1 and add 1 file in website, asked by Ann" }).click();
    await expect.poll(() => world.decisions[1]).toEqual({ cardOrApprovalId: "a2", choice: "approve" });
  });

  test("a megabyte of diff opens at once, in portions that lose no line", async () => {
    const lines = Array.from({ length: 25_000 }, (_, index) => `+line ${index} ${"x".repeat(30)}`);
    world.diff = ["--- a/x", "+++ b/x", `@@ -0,0 +1,${lines.length} @@`, ...lines].join("\n");
    world.cards = [changesCard("a1")];
    await open();
    await tab.getByRole("button", { name: "Show diff" }).click();
    const more = tab.getByRole("button", { name: /^Show more/ });
    await more.waitFor();
    while ((await more.count()) > 0) await more.click();
    const shown = tab.getByRole("dialog").getByRole("region", { name: "The whole diff" });
    expect((await shown.textContent())?.length).toBe(world.diff.length);
  });
});
