import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { OperatorDecision } from "../../src/ports/approval.ts";
import type { ShownChanges } from "../../src/ports/card.ts";
import type { AnswerChoice, AnswerReceipt } from "../../src/ports/message.ts";
import { type DashboardData, mountDashboard } from "../../src/web/dashboard.ts";
import { createMetrics } from "../../src/web/metrics.ts";
import { createWebServer, type WebServer } from "../../src/web/server.ts";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";

const token = "a-token-for-this-test";
let data: DashboardData;
let decisions: OperatorDecision[];
let receipt: AnswerReceipt;
let diff: string;
let server: WebServer;
let url: string;

beforeEach(async () => {
  data = {
    version: "1.2.3",
    startedAt: Date.now() - 65_000,
    status: [
      { name: "platform slack", state: "off", detail: "set SLACK_BOT_TOKEN" },
      { name: "sandbox", state: "warning", detail: "commands run without a sandbox" },
    ],
    turns: [
      {
        id: "t1",
        conversationId: "local:dm:ann",
        who: "Ann",
        headline: "<b>what is here?</b>",
        state: "parked",
        steps: 2,
        startedAt: Date.now() - 5000,
        endedAt: null,
      },
    ],
    approvals: [],
    jobs: { waiting: 3, running: 1 },
    skills: [
      {
        name: "shell",
        description: "Runs commands",
        tools: 1,
        diagnostics: [{ line: 7, severity: "warning", message: "the pattern ends in $" }],
      },
    ],
  };
  const metrics = createMetrics(createEvents());
  const readiness = () => ({ isReady: true, detail: "ready" });
  server = createWebServer({ host: "127.0.0.1", port: 0, token, readiness, metrics, log: silentLog });
  decisions = [];
  diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- <b>old</b>\n+new";
  receipt = { accepted: true, text: "Denied." };
  const decide = async (decision: OperatorDecision) => {
    decisions.push(decision);
    data.approvals = data.approvals.filter(({ id }) => id !== decision.cardOrApprovalId);
    return receipt;
  };
  const diffOf = async (id: string) => (id === "a1" ? diff : undefined);
  mountDashboard(server.app, { snapshot: async () => data, decide, diffOf });
  ({ url } = await server.start());
});
afterEach(() => server.close());

test("page, files and data need the token", async () => {
  for (const path of ["/dashboard", "/dashboard/data", "/dashboard/dashboard.js"]) {
    expect((await fetch(url + path)).status).toBe(401);
    expect((await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  }
});

test("nothing but the dashboard's own files is served", async () => {
  for (const path of ["/dashboard/../dashboard.ts", "/dashboard/%2e%2e/dashboard.ts", "/dashboard/..%2fserver.ts"]) {
    expect((await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status).toBe(404);
  }
});

function approval(id: string): DashboardData["approvals"][number] {
  return {
    id,
    conversationId: "local:dm:ann",
    tool: "shell_exec",
    call: 'shell_exec\ncommand: "rm notes.txt"',
    headline: "Run `rm notes.txt`",
    reason: "It may change something.",
    why: ["Skill shell asks: it may change something. Pattern “rm”."],
    warning: "A word mixes alphabets.",
    ...{ facts: ["Connects to registry.example:443"], changes: null, choices: ["approve", "deny", "edit"] },
    times: 2,
    progress: null,
    requester: "Ann",
    approvers: "Ann (who asked)",
    expiresAt: Date.now() + 60_000,
  };
}

function changesApproval(id: string): DashboardData["approvals"][number] {
  const changes: ShownChanges = {
    title: "website: 1 file deleted, 1 added",
    summary: "Somebody must agree before they are kept.",
    files: [
      { path: "<b>old</b>.html", action: "deleted", detail: "−40" },
      { path: "new.html", action: "added", detail: "+12" },
    ],
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 1" }],
    lastOutput: "1 test failed",
    labels: { approve: "Keep", deny: "Discard" },
  };
  const shown = { changes, choices: ["approve", "deny", "part", "diff"] as AnswerChoice[] };
  return {
    ...approval(id),
    tool: "changes",
    call: "",
    headline: shown.changes?.title ?? "",
    reason: null,
    why: [],
    warning: null,
    times: 1,
    ...shown,
  };
}

function post(body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/dashboard/answers`, { method: "POST", body, headers });
}
const wanted = { cardOrApprovalId: "a1", choice: "deny", reason: "no" };

test("an answer needs the token, and of a browser this very origin", async () => {
  const asProgram = { authorization: `Bearer ${token}` };
  expect((await post(JSON.stringify(wanted), {})).status).toBe(401);
  expect((await post(JSON.stringify(wanted), { ...asProgram, origin: "http://evil.example" })).status).toBe(403);
  const signedIn = await fetch(`${url}/dashboard?token=${token}`, { redirect: "manual" });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await post(JSON.stringify(wanted), { cookie })).status).toBe(403);
  expect(decisions).toEqual([]);
  expect((await post(JSON.stringify(wanted), { cookie, origin: url })).status).toBe(200);
  const answered = await post(JSON.stringify(wanted), asProgram);
  expect(await answered.json()).toEqual({ accepted: true, text: "Denied." });
  expect(decisions).toEqual([wanted, wanted]);
});

test.each([
  ["no JSON", "approve"],
  ["no id", JSON.stringify({ choice: "approve" })],
  ["a choice that is the chat's alone", JSON.stringify({ ...wanted, choice: "allow" })],
  ["a part without files", JSON.stringify({ ...wanted, choice: "part" })],
  ["a part with no file", JSON.stringify({ ...wanted, choice: "part", parts: [] })],
  ["a part with a file that no card has", JSON.stringify({ ...wanted, choice: "part", parts: [25] })],
  ["files without a part", JSON.stringify({ ...wanted, parts: [0] })],
  ["somebody else's name", JSON.stringify({ ...wanted, by: { id: "ann" } })],
])("%s is no answer, and decides nothing", async (_name, body) => {
  const response = await post(body, { authorization: `Bearer ${token}` });
  expect([response.status, await response.json()]).toMatchObject([400, { accepted: false }]);
  expect(decisions).toEqual([]);
});

test("a diff needs the token, and one that is not there is said to be gone", async () => {
  const asProgram = { headers: { authorization: `Bearer ${token}` } };
  expect((await fetch(`${url}/dashboard/diffs/a1`)).status).toBe(401);
  expect(await (await fetch(`${url}/dashboard/diffs/a1`, asProgram)).json()).toEqual({ diff });
  expect((await fetch(`${url}/dashboard/diffs/a2`, asProgram)).status).toBe(404);
});

test("an answer larger than any is refused", async () => {
  const body = JSON.stringify({ ...wanted, reason: "x".repeat(100_000) });
  expect((await post(body, { authorization: `Bearer ${token}` })).status).toBe(413);
  expect(decisions).toEqual([]);
});

describe.skipIf(missingBrowser !== undefined)(`in a browser${browserNote}`, () => {
  test("it shows what the snapshot says as text, and what changes", async () => {
    const browser = await launchBrowser();
    try {
      const tab = await browser.newPage();
      const problems: string[] = [];
      tab.on("pageerror", (error) => problems.push(error.message));
      tab.on("console", (line) => line.type() === "error" && problems.push(line.text()));
      await tab.goto(`${url}/dashboard?token=${token}`);
      await tab.getByText("<b>what is here?</b>").waitFor();
      await tab.getByText("line 7: the pattern ends in $").waitFor();
      await tab.getByText("No approvals waiting.").waitFor();
      await tab.getByText("version 1.2.3, running for").waitFor();
      data.approvals = [approval("a1")];
      await tab.getByRole("button", { name: "Approve shell_exec, asked by Ann" }).waitFor();
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  test("an approval shows the whole call and why it asks, and is answered with the keyboard alone", async () => {
    const browser = await launchBrowser();
    try {
      const long = "x".repeat(5_000);
      data.approvals = [
        { ...approval("a1"), call: `shell_exec\ncommand: "<img src=x onerror=alert(1)> ${long}"` },
        approval("a2"),
      ];
      const tab = await browser.newPage();
      await tab.goto(`${url}/dashboard?token=${token}`);
      const row = tab.locator("li.approval").first();
      expect(await row.locator("pre").textContent()).toBe(data.approvals[0]?.call);
      await row.getByText("it may change something (“rm” of skill shell)").waitFor();
      await row.getByText("A word mixes alphabets.").waitFor();
      await row.getByText("answers for 2 identical calls").waitFor();
      await row.getByText("Connects to registry.example:443").waitFor();

      await row.getByRole("button", { name: "Approve" }).focus();
      await tab.keyboard.press("Shift+Tab");
      await tab.keyboard.type("not on a Friday");
      // The page looks for news meanwhile; what is half written stays.
      const refreshed = tab.waitForResponse((response) => response.url().endsWith("/dashboard/data"));
      await refreshed;
      await tab.keyboard.press("Enter");
      await tab.getByRole("status").getByText("shell_exec: Denied.").waitFor();
      expect(decisions).toEqual([{ cardOrApprovalId: "a1", choice: "deny", reason: "not on a Friday" }]);

      receipt = { accepted: false, text: "Nothing left to answer. Approved by Ann." };
      await tab.locator("li.approval").nth(1).waitFor({ state: "detached" });
      await tab.getByRole("button", { name: "Approve" }).focus();
      await tab.keyboard.press("Enter");
      await tab.getByRole("status").getByText("Nothing left to answer. Approved by Ann.").waitFor();
      expect(decisions[1]).toEqual({ cardOrApprovalId: "a2", choice: "approve" });
      await tab.getByText("No approvals waiting.").waitFor();
    } finally {
      await browser.close();
    }
  });

  test("changes are shown with files, commands and the diff, and can be kept in part", async () => {
    const browser = await launchBrowser();
    try {
      data.approvals = [changesApproval("a1"), changesApproval("a2")];
      const tab = await browser.newPage();
      await tab.goto(`${url}/dashboard?token=${token}`);
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
      expect(await shown.textContent()).toBe(diff);
      expect(await shown.locator("del").textContent()).toBe("--- <b>old</b>\n");
      await tab.keyboard.press("Escape");
      await tab.getByRole("dialog").waitFor({ state: "detached" });
      await tab.locator("li.approval").nth(1).getByRole("button", { name: "Show diff" }).click();
      await tab.getByText("The diff of this card is gone.").waitFor();

      await row.getByRole("checkbox", { name: "old" }).uncheck();
      await row.getByRole("checkbox", { name: "new.html" }).uncheck();
      await row.getByRole("button", { name: "Keep 0 of 2" }).click();
      await tab.getByText("To keep none, use “Discard”.").waitFor();
      expect(decisions).toEqual([]);
      await row.getByRole("checkbox", { name: "new.html" }).check();
      await row.getByRole("button", { name: "Keep 1 of 2" }).click();
      await expect.poll(() => decisions).toEqual([{ cardOrApprovalId: "a1", choice: "part", parts: [1] }]);
      await row.getByRole("button", { name: "Keep website: 1 file deleted, 1 added, asked by Ann" }).click();
      await expect.poll(() => decisions[1]).toEqual({ cardOrApprovalId: "a2", choice: "approve" });
    } finally {
      await browser.close();
    }
  });
});
