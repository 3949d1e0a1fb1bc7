/** The main job in a real browser with the real process, with the demo model and with a model server. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

describe.skipIf(missingBrowser !== undefined)(`the whole agent in a browser${browserNote}`, () => {
  let browser: Browser;
  let home: RemoraHome;
  let remora: RunningRemora;
  let tab: Page;

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    home = await createHome();
  });
  afterEach(async () => {
    await tab.context().close();
    await remora.stop();
    await home.remove();
  });

  async function start(env: Record<string, string> = {}): Promise<void> {
    remora = await startRemora(home, env);
    tab = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
    tab.setDefaultTimeout(90_000);
    await tab.goto(`${remora.url}/?token=${remora.token}`);
  }

  async function say(text: string): Promise<void> {
    const box = tab.getByRole("main").getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  const thread = () => tab.getByRole("complementary", { name: "Thread" });
  const madeFile = (name: string) => readFile(join(home.workspace, "files", "channel:general", name), "utf8");

  const settled = (name: string) => thread().getByRole("region", { name, exact: true });
  const report = () => settled("Changes");

  test("README's first example runs without asking, the card says what changed, and Undo reverts it", async () => {
    await start();
    await say("@remora run touch hello.txt && ls -la");
    await thread().getByText("is done. Output:").waitFor();
    await report().getByText("Working folder: 1 file added").waitFor();
    await report().getByText("hello.txt").waitFor();
    expect(await thread().getByRole("region", { name: "Approval needed" }).count()).toBe(0);
    expect(await madeFile("hello.txt")).toBe("");
    await report().getByRole("button", { name: "Undo" }).click();
    await report().getByText("undone by Ann").waitFor();
    await expect(madeFile("hello.txt")).rejects.toThrow("ENOENT");
    expect(await report().getByRole("button", { name: "Undo" }).count()).toBe(0);

    await thread().locator(".footer-line summary").click();
    await thread().getByText("What I did for Ann").waitFor();
    await thread().locator(".record").getByText("touch hello.txt && ls -la").waitFor();
    const bad = thread().getByRole("button", { name: "This answer did not help" });
    await bad.click();
    await thread().locator(".ratings input").fill("wrong file");
    await thread().locator(".ratings input").press("Enter");
    const ratings = () => readdir(join(home.workspace, "brain/basalganglia/channel:general")).then(textsOf);
    await expect.poll(ratings).toContain("wrong file");
    expect(await bad.getAttribute("aria-pressed")).toBe("true");
  });

  async function textsOf(names: string[]): Promise<string> {
    const folder = join(home.workspace, "brain/basalganglia/channel:general");
    return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
  }

  test("a mention that needs network runs after Approve, which the bar and the title ask for elsewhere", async () => {
    await start();
    await say("@remora run echo hello > made.txt && cat made.txt with network example.com");
    await tab.getByRole("button", { name: "random" }).click();
    await tab.getByText("Ann's request in #general is waiting for your answer.").waitFor();
    expect(await tab.title()).toBe("(1) #random · Remora");
    await tab.getByRole("radio", { name: "Ben" }).click();
    await tab.getByPlaceholder("Message #random as Ben").waitFor();
    await expect.poll(() => tab.title()).toMatch(/^(?!\()/);
    await tab.getByRole("radio", { name: "Ann" }).click();
    await tab.getByRole("button", { name: "Show it" }).click();
    const card = thread().getByRole("region", { name: "Approval needed" });
    await card.getByRole("heading", { name: "Run echo hello > made.txt && cat made.txt", exact: true }).waitFor();
    await card.getByText("Reaches example.com").waitFor();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await settled("Approved request").getByText("Ann approved").waitFor();
    await thread().getByText("is done. Output:").waitFor();
    await report().getByText("made.txt").waitFor();
    expect(await madeFile("made.txt")).toBe("hello\n");
  });

  test("a mention that needs network does not run after Deny, and the answer says so", async () => {
    await start();
    await say("@remora run touch never.txt with network example.com");
    await thread().getByRole("button", { name: "Deny", exact: true }).click();
    await settled("Denied request").getByText("Ann denied").waitFor();
    await thread()
      .getByText(/denied/i)
      .last()
      .waitFor();
    await expect(madeFile("never.txt")).rejects.toThrow("ENOENT");
  });

  test("an edited call runs as edited, without a second question", async () => {
    await start();
    await say("@remora run echo one > edited.txt with network example.com");
    const card = thread().getByRole("region", { name: "Approval needed" });
    await card.getByText("More…").click();
    await card.getByRole("button", { name: "Edit…" }).click();
    const editor = tab.getByRole("dialog").getByRole("textbox");
    await editor.fill('{ "command": "echo two > edited.txt", "network": ["example.org"] }');
    await tab
      .getByRole("dialog")
      .getByRole("button", { name: /approve/i })
      .click();
    await settled("Approved request")
      .getByText("Ann changed echo one > edited.txt to echo two > edited.txt and approved it")
      .waitFor();
    await expect.poll(() => madeFile("edited.txt").catch(() => "")).toBe("two\n");
  });

  test.each([
    ["Anthropic's protocol", (url: string) => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url })],
    ["OpenAI's protocol", (url: string) => ({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${url}/v1` })],
  ])("with a model server in %s: streamed text, a tool call in pieces, Approve, result", async (_name, env) => {
    const model = new LLMock({ port: 0, chunkSize: 8 });
    const command = "echo v1 > notes.txt && cat notes.txt";
    const network = ["example.com"];
    model.on(
      { userMessage: /release notes/, hasToolResult: false },
      {
        content: "I will look at the history first.",
        toolCalls: [{ id: "call_1", name: "shell_exec", arguments: JSON.stringify({ command, network }) }],
      },
    );
    model.on({ userMessage: /release notes/, hasToolResult: true }, { content: "The notes are written: **v1**." });
    try {
      await start(env(await model.start()));
      await say("@remora write the release notes");
      await thread().getByText("I will look at the history first.").waitFor();
      await thread().getByRole("button", { name: "Approve", exact: true }).click();
      await thread().locator("strong", { hasText: "v1" }).waitFor();
      await report().getByText("notes.txt").waitFor();
      expect(await madeFile("notes.txt")).toBe("v1\n");
      const requests = model.getRequests().map((request) => JSON.stringify(request.body));
      // Without the one that tests the model at the start.
      await expectSnapshotsToShow(requests.filter((request) => request.includes("release notes")));
    } finally {
      await model.stop();
    }
  });

  /** Every text of a snapshot's system parts, messages and tools is in the model request of that step. */
  async function expectSnapshotsToShow(received: string[]): Promise<void> {
    const folder = join(home.workspace, "brain/prefrontal/.debug");
    const snapshots = async () => (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
    // Snapshots are written after the answer.
    await expect.poll(snapshots).toHaveLength(received.length);
    const names = await snapshots();
    for (const [index, name] of names.entries()) {
      const snapshot = await readFile(join(folder, name), "utf8");
      const sent = snapshot.slice(snapshot.indexOf("## System"));
      const texts = [...sent.matchAll(/^~~~\n([\s\S]*?)\n~~~$/gm)].map(([, text = ""]) => text);
      expect(texts.length).toBeGreaterThan(8);
      // Schemas and arguments may be objects or JSON in JSON, so white space is ignored.
      const flat = (text: string) => text.replace(/\\n|\\"|["\\\s]/g, "");
      for (const text of texts) expect(flat(received[index] ?? "")).toContain(flat(text));
    }
  }
});
