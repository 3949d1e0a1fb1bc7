/**
 * The dashboard in a real browser with a real process: every page in both themes and at both widths, without serious
 * findings of axe, and every kind of action with its effect in the agent.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFindings } from "../doubles/axe.ts";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

const widths = [1280, 390];
const pages = ["", "turns", "people", "grants", "schedules", "memory", "skills", "settings", "health"];

describe.skipIf(missingBrowser !== undefined)(`the dashboard${browserNote}`, () => {
  let browser: Browser;
  let home: RemoraHome;
  let remora: RunningRemora;
  let ann: ChatClient;
  let tab: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
    home = await createHome();
    await start();
    const said = await ann.say("@remora run touch hello.txt");
    await ann.answerTo(said);
    await ann.answerTo(await ann.say("@remora remember that the launch is on Friday"));
    await ann.cardFor(await ann.say("@remora run echo <b>hi</b> > made.txt with network example.com"));
  });
  afterAll(async () => {
    ann.close();
    await browser.close();
    await remora.stop();
    await home.remove();
  });

  async function start(): Promise<void> {
    remora = await startRemora(home);
    ann = await createChatClient(remora.url, remora.token);
    await tab?.context().close();
    problems.length = 0;
    tab = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
    tab.setDefaultTimeout(90_000);
    tab.on("pageerror", (error) => problems.push(error.message));
    tab.on("console", (line) => line.type() === "error" && problems.push(line.text()));
    await tab.goto(`${remora.url}/dashboard?token=${remora.token}`);
  }

  async function open(page: string): Promise<void> {
    await tab.evaluate(`location.hash = "#/${page}"`);
    await tab.getByText("Loading …").waitFor({ state: "detached" });
    await tab.locator("main section").first().waitFor();
  }

  /** Checks the open page at both widths; axe checks both themes. */
  async function expectUsable(): Promise<void> {
    for (const width of widths) {
      await tab.setViewportSize({ width, height: 860 });
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      expect(await axeFindings(tab)).toEqual([]);
    }
    await tab.setViewportSize({ width: 1280, height: 860 });
    expect(problems).toEqual([]);
  }

  test.each(pages)("page “%s” fits and is accessible in both themes at both widths", async (page) => {
    await open(page);
    await expectUsable();
  });

  test("a turn shows its calls, prompt and log, and is accessible", async () => {
    await open("turns");
    await tab.getByRole("link", { name: "run touch hello.txt" }).click();
    await tab.getByRole("region", { name: "The whole call" }).getByText("touch hello.txt").waitFor();
    await tab.getByRole("button", { name: "Prompt of step 1" }).click();
    await tab.getByRole("dialog").getByText("<identity>").first().waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("button", { name: "Show the log of this turn" }).click();
    await tab.getByRole("table", { name: "Log" }).getByText("turn.finished").waitFor();
    await expectUsable();
  });

  test("the search finds a turn by its words, and says when none matches", async () => {
    await open("turns");
    await tab.getByRole("textbox", { name: "Words" }).fill("LAUNCH");
    await tab.keyboard.press("Enter");
    await expect.poll(() => tab.getByRole("table", { name: "Turns" }).getByRole("row").count()).toBe(2);
    await tab.getByRole("textbox", { name: "Words" }).fill("nothing like this");
    await tab.keyboard.press("Enter");
    await tab.getByText("No turns match.").waitFor();
  });

  test("a stopped turn ends in the chat, and the audit says that the operator did it", async () => {
    await open("");
    await tab.getByRole("button", { name: "Stop the turn of Ann" }).click();
    await tab.getByRole("dialog").getByRole("button", { name: "Stop it" }).click();
    await tab.getByRole("status").getByText("Stopping this turn.").waitFor();
    await tab.getByText("Nothing is running or waiting.").waitFor();
    await tab.getByText("No approvals waiting.").waitFor();
    expect(await auditLines()).toContainEqual(
      expect.objectContaining({ event: "operator.acted", action: "turn.stop" }),
    );
  });

  test("memory is corrected and deleted with the keyboard, and the files say so", async () => {
    await open("memory");
    await tab.getByRole("searchbox", { name: "Words" }).fill("launch Friday");
    await tab.keyboard.press("Enter");
    await tab.getByRole("table", { name: "Found" }).getByRole("link").first().click();
    const entry = tab.locator(".entry", { hasText: "Friday" }).first();
    await entry.getByRole("button", { name: "Correct" }).focus();
    await tab.keyboard.press("Enter");
    const editor = tab.getByRole("textbox", { name: "Corrected text" });
    const text = await editor.inputValue();
    await editor.fill(text.replaceAll("Friday", "Monday"));
    await tab.getByRole("button", { name: "Save" }).click();
    await tab.getByRole("status").getByText("Corrected.").waitFor();
    await tab.getByRole("region", { name: "Entry" }).getByText("Monday").first().waitFor();
    await expectUsable();
    const entries = await tab.getByRole("region", { name: "Entry" }).count();
    await tab.getByRole("button", { name: "Delete" }).first().click();
    await tab.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
    await tab.getByRole("status").getByText("Deleted.").waitFor();
    await expect.poll(() => tab.getByRole("region", { name: "Entry" }).count()).toBe(entries - 1);
  });

  test("a skill that is off can't be used, also after a restart, until it is on again", async () => {
    await open("skills");
    await tab.getByRole("switch", { name: "Skill shell" }).click();
    await tab.getByRole("dialog").getByRole("button", { name: "Turn it off" }).click();
    await tab.getByText("shell is off.").waitFor();
    await remora.stop();
    ann.close();
    await start();
    expect(await answerTo("@remora run touch never.txt")).not.toContain("is done");
    await open("skills");
    await tab.getByRole("switch", { name: "Skill shell", checked: false }).click();
    await tab.getByText("shell is on again.").waitFor();
    expect(await answerTo("@remora run touch again.txt")).toContain("is done");
    await open("health");
    await tab.getByRole("table", { name: "Changes" }).getByText("started").nth(1).waitFor();
  });

  test("while Remora is away, the page says so and keeps what it showed; then it goes on by itself", async () => {
    await open("skills");
    await remora.stop();
    await tab.getByRole("alert").getByText("Out of date: Can't reach Remora.").waitFor();
    await tab.getByRole("switch", { name: "Skill shell" }).waitFor();
    ann.close();
    await start();
    await open("");
    await tab.getByText("No approvals waiting.").waitFor();
    expect(problems).toEqual([]);
  });

  async function answerTo(text: string): Promise<string> {
    return (await ann.answerTo(await ann.say(text))).text;
  }

  async function auditLines(): Promise<object[]> {
    const folder = join(home.workspace, "brain/corpus");
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    return files.flatMap((text) => text.trim().split("\n")).map((line) => JSON.parse(line) as object);
  }
});
