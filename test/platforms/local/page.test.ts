/** The page in a real Chromium, with a scripted agent behind the port. */
import type { Page, ViewportSize } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { browserNote, missingBrowser, openTabs, type Tabs } from "../../doubles/browser.ts";
import { blankPng } from "../../plugin-sdk/documents/files.ts";
import { createScriptedAgent, type ScriptedAgent } from "./agent.ts";
import { type LocalPage, openLocalPage, token } from "./local-page.ts";

describe.skipIf(missingBrowser !== undefined)(`the local page in a browser${browserNote}`, () => {
  let tabs: Tabs;
  let page: LocalPage;
  let agent: ScriptedAgent;
  let tab: Page;
  let problems: string[];

  beforeAll(async () => {
    tabs = await openTabs();
  });

  beforeEach(async () => {
    page = await openLocalPage();
    agent = createScriptedAgent(() => page.platform);
    await page.platform.connect(agent.handlers, new AbortController().signal);
    problems = [];
    tab = await openTab();
  });
  afterEach(async () => {
    await tabs.closeAll();
    await page.close();
    expect(problems).toEqual([]);
  });

  async function openTab(viewport?: ViewportSize): Promise<Page> {
    const opened = await tabs.open(viewport && { viewport });
    opened.setDefaultTimeout(90_000);
    opened.on("pageerror", (error) => problems.push(error.message));
    opened.on("console", (line) => {
      if (line.type() === "error") problems.push(line.text());
    });
    await opened.goto(`${page.url}/?token=${token}`);
    await opened.getByPlaceholder("Message #general as Ann").waitFor();
    return opened;
  }

  const thread = () => tab.getByRole("complementary", { name: "Thread" });

  async function write(text: string, from: Page = tab): Promise<void> {
    const box = from.getByRole("main").getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  async function reply(text: string): Promise<void> {
    const box = thread().getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  test("a file of 2 MB is uploaded with visible progress, and the message has it", async () => {
    await tab
      .getByRole("main")
      .locator("input[type=file]")
      .setInputFiles({
        ...{ name: "figures.csv", mimeType: "text/csv" },
        buffer: Buffer.alloc(2_000_000, "a,b\n"),
      });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await tab.route("**/local/api/uploads/**", async (route) => {
      await held;
      await route.continue();
    });
    await write("what is in it?");
    await tab.getByRole("progressbar", { name: "Uploading figures.csv" }).waitFor();
    expect(await tab.getByRole("button", { name: "Remove figures.csv" }).count()).toBe(0);
    release();
    await tab.getByRole("link", { name: /figures\.csv/ }).waitFor();
    await tab.getByRole("progressbar").waitFor({ state: "detached" });
    expect(await tab.getByRole("main").getByRole("textbox").inputValue()).toBe("");
  });

  test("a file above the limit is refused at once, with the limit, and the others stay", async () => {
    const file = (name: string, bytes: number) => ({ name, mimeType: "text/plain", buffer: Buffer.alloc(bytes, 97) });
    const picker = tab.getByRole("main").locator("input[type=file]");
    await picker.setInputFiles([file("large.txt", 4 * 1024 * 1024), file("small.txt", 5)]);
    await tab.getByText("large.txt has 4.0 MiB. A file can have at most 3.0 MiB.").waitFor();
    await tab.getByRole("button", { name: "Remove small.txt" }).waitFor();
    expect(await tab.getByRole("button", { name: "Remove large.txt" }).count()).toBe(0);
  });

  test("the end stays in view when pictures of a message have loaded", async () => {
    const picture = (name: string) => ({ name, mimeType: "image/png", buffer: Buffer.from(blankPng(900, 800)) });
    await tab
      .getByRole("main")
      .locator("input[type=file]")
      .setInputFiles(["a.png", "b.png", "c.png", "d.png"].map(picture));
    await write("look at these");
    await tab.getByRole("img", { name: "d.png" }).waitFor();
    await vi.waitFor(async () => {
      const left = await tab
        .locator("#log")
        .evaluate((log) => [
          log.scrollHeight > log.clientHeight + 100,
          Math.round(log.scrollHeight - log.scrollTop - log.clientHeight),
        ]);
      expect(left).toEqual([true, 0]);
    });
  });

  test("a message goes where it was written, also if another place is opened during the upload", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await tab.route("**/local/api/uploads/**", async (route) => {
      await held;
      await route.continue();
    });
    const picker = tab.getByRole("main").locator("input[type=file]");
    await picker.setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("alpha") });
    await write("for general");
    await tab.getByRole("progressbar").waitFor();
    await tab.getByRole("button", { name: "random" }).click();
    await tab.getByPlaceholder("Message #random as Ann").waitFor();
    release();
    await vi.waitFor(async () => {
      const messages = await page.messages("person=ann&place=channel:general");
      expect(messages.map(({ text, files }) => [text, files.length])).toEqual([["for general", 1]]);
    });
    expect(await page.messages("person=ann&place=channel:random")).toEqual([]);
  });

  test("a mention that is accepted late does not lead away from the place that was opened meanwhile", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await tab.route("**/local/api/messages", async (route) => {
      await held;
      await route.continue();
    });
    await write("@remora hello");
    await tab.getByRole("button", { name: "random" }).click();
    await tab.getByPlaceholder("Message #random as Ann").waitFor();
    const accepted = tab.waitForResponse("**/local/api/messages");
    release();
    await (await accepted).finished();
    await tab.getByRole("button", { name: "general" }).click();
    await tab.getByRole("main").getByText("1 reply").waitFor();
    expect(await thread().isVisible()).toBe(false);
  });

  test("the link leaves no token in the address, and the first look says what to try", async () => {
    expect(new URL(tab.url()).search).toBe("");
    await tab.getByRole("button", { name: "@remora run touch hello.txt" }).click();
    expect(await tab.getByRole("main").getByRole("textbox").inputValue()).toBe("@remora run touch hello.txt");
  });

  test("nothing can be typed before the chat is there, and then everything that is typed is sent", async () => {
    const loading = Promise.withResolvers<void>();
    await tab.route("**/local/api/state*", async (route) => {
      await loading.promise;
      await route.continue();
    });
    await tab.reload();
    const box = tab.getByRole("main").getByRole("textbox");
    await box.waitFor();
    expect(await box.isDisabled()).toBe(true);
    const written = write("@remora at once");
    loading.resolve();
    await written;
    await thread().getByText("@remora at once").waitFor();
  });

  test("a mention opens its thread, where the answer streams in and ends as Markdown", async () => {
    agent.answerText = "Some **bold** words:\n\n```\ncode\n```\nlast";
    agent.isHolding = true;
    await write("@remora tell me");
    await thread().locator("[aria-busy=true] strong", { hasText: "bold" }).waitFor();
    agent.release();
    await thread().locator("[aria-busy=false]", { hasText: "last" }).waitFor();
    expect(await thread().locator("pre").textContent()).toBe("code\n");
    await tab.getByRole("button", { name: /^1 reply/ }).waitFor();
  });

  test("it says that the agent thinks until words come, but not after the word that stops it", async () => {
    agent.answerText = "word";
    agent.isHolding = true;
    await write("@remora tell me");
    const thinking = thread().getByText("Remora is thinking");
    await thinking.waitFor();
    const animations = () => tab.evaluate("document.getAnimations().length");
    expect(await animations()).toBe(0);
    await tab.emulateMedia({ reducedMotion: "no-preference" });
    await expect.poll(animations).toBeGreaterThan(0);
    await tab.emulateMedia({ reducedMotion: null });
    await reply("stop");
    await thread()
      .locator(".said", { hasText: /^stop$/ })
      .waitFor();
    await thinking.waitFor({ state: "detached" });
    agent.isHolding = false;
    agent.release();
  });

  test("what the agent writes can't run, fetch or hide anything", async () => {
    agent.answerText = [
      "<script>window.hacked = 1</script><b onclick=x>raw</b>",
      "![pixel](https://evil.example/p.png) [click](javascript:alert(1)) [ok](https://example.com/)",
      "<img src=x onerror=alert(1)> end",
    ].join("\n\n");
    await write("@remora do it");
    const answer = thread().locator("[aria-busy=false] .markdown", { hasText: "end" });
    await answer.waitFor();
    expect(await answer.locator("script, img, b, [onclick], [onerror], [href^=javascript]").count()).toBe(0);
    expect(await answer.textContent()).toContain("<script>window.hacked = 1</script>");
    expect(await answer.getByRole("link", { name: "ok" }).getAttribute("rel")).toBe("noopener noreferrer");
  });

  test("a card shows the whole call, reasons and who may answer; Approve settles it, and the answer stands below", async () => {
    await write("@remora ask");
    const card = thread().getByRole("region", { name: "Approval needed" });
    await card.waitFor();
    const text = await card.textContent();
    for (const part of [
      "Run ls -la && cat <b>notes</b>.txt",
      "Runs a command.",
      "ls -la && cat <b>notes</b>.txt",
      "Ann may answer",
      "expires in 60 min",
    ])
      expect(text).toContain(part);
    await tab.getByRole("button", { name: /needs an answer/ }).waitFor();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await thread().getByText("Approved by Ann").waitFor();
    await thread().locator("pre", { hasText: "README.md" }).waitFor();
    expect(
      await thread()
        .getByRole("button", { name: /Approve|Deny|Edit…|Allow/ })
        .count(),
    ).toBe(0);
    const order = await thread().getByRole("article").allTextContents();
    expect(order.findIndex((each) => each.includes("Approved by"))).toBeLessThan(
      order.findIndex((each) => each.includes("README.md")),
    );
    expect(agent.answers).toMatchObject([{ choice: "approve", by: { id: "ann" } }]);
  });

  test("Deny is one click as well", async () => {
    await write("@remora ask");
    await thread().getByRole("button", { name: "Deny", exact: true }).click();
    await thread().getByText("Denied by Ann").waitFor();
    await thread().getByText("Then I leave it.").waitFor();
  });

  test("Why this asks shows the rules, to anybody, and nothing else does", async () => {
    await write("@remora ask");
    await thread().getByText("More…").click();
    const why = thread().getByRole("list", { name: "Why this asks" });
    expect(await why.isVisible()).toBe(false);
    await thread().getByRole("button", { name: "Why this asks" }).click();
    await why.getByText("SKILL.md:14").waitFor();
    expect(agent.answers).toEqual([]);
  });

  test("the menu opens, moves and closes by keyboard", async () => {
    await write("@remora ask");
    const menu = thread().getByText("More…");
    await menu.focus();
    await tab.keyboard.press("Enter");
    await tab.keyboard.press("ArrowDown");
    expect(
      await thread()
        .getByRole("button", { name: "Edit…" })
        .evaluate((button) => button.matches(":focus")),
    ).toBe(true);
    await tab.keyboard.press("ArrowUp");
    expect(
      await thread()
        .getByRole("button", { name: "Why this asks" })
        .evaluate((button) => button.matches(":focus")),
    ).toBe(true);
    await tab.keyboard.press("Escape");
    expect(await thread().getByRole("button", { name: "Edit…" }).isVisible()).toBe(false);
    expect(await menu.evaluate((summary) => summary.matches(":focus"))).toBe(true);
  });

  test("Deny with reason sends the reason along", async () => {
    await write("@remora ask");
    await thread().getByText("More…").click();
    await thread().getByRole("button", { name: "Deny with reason…" }).click();
    await tab.getByRole("dialog").getByLabel("Reason").fill("it is the wrong folder");
    await tab.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
    await thread().getByText("Denied by Ann").waitFor();
    expect(agent.answers).toMatchObject([{ choice: "deny", reason: "it is the wrong folder" }]);
  });

  test("Allow for a while shows the rule that it saves, and sends it", async () => {
    await write("@remora ask");
    await thread().getByText("More…").click();
    await thread().getByRole("button", { name: "Allow here for a while…" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByText("shell: every shell command").waitFor();
    expect(agent.answers).toEqual([]);
    await dialog.getByRole("button", { name: "Allow" }).click();
    await vi.waitFor(() => expect(agent.answers).toMatchObject([{ choice: "allow" }]));
  });

  test("Edit takes JSON only, and sends what was edited", async () => {
    await write("@remora ask");
    await thread().getByText("More…").click();
    await thread().getByRole("button", { name: "Edit…" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Arguments (JSON)" }).fill("{ nonsense");
    await dialog.getByRole("button", { name: "Approve edited" }).click();
    await dialog.getByText("Not valid JSON").waitFor();
    await dialog.getByRole("textbox").fill('{"command":"ls"}');
    await dialog.getByRole("button", { name: "Approve edited" }).click();
    await thread().getByText("Edited and approved by Ann").waitFor();
    expect(agent.answers).toMatchObject([{ choice: "edit", editedJson: '{"command":"ls"}' }]);
  });

  test("several calls are answered one by one or all at once", async () => {
    await write("@remora ask two");
    await thread().getByRole("button", { name: "Approve", exact: true }).first().click();
    await thread().getByText("Approved by Ann").waitFor();
    expect(await thread().getByRole("button", { name: "Approve all" }).count()).toBe(0);
    await reply("ask two");
    await thread().getByRole("button", { name: "Deny all 2" }).click();
    await vi.waitFor(async () => expect(await thread().getByText("Denied by Ann").count()).toBe(2));
  });

  test("a stranger's click is answered on the card, and the buttons stay for the one who may", async () => {
    await write("@remora ask");
    await thread().getByRole("button", { name: "Approve", exact: true }).waitFor();
    await tab.getByRole("radio", { name: "Ben" }).click();
    await tab.getByPlaceholder("Reply as Ben").waitFor();
    await thread().getByRole("button", { name: "Approve", exact: true }).click();
    await thread().getByText("Not yours to answer: Ann may.").waitFor();
    expect(await thread().getByRole("button", { name: "Approve", exact: true }).isEnabled()).toBe(true);
  });

  test("a reload shows everything, card and open thread included", async () => {
    await write("@remora ask");
    await thread().getByRole("button", { name: "Approve", exact: true }).waitFor();
    await tab.reload();
    await thread().getByRole("button", { name: "Approve", exact: true }).click();
    await thread().getByText("Approved by Ann").waitFor();
  });

  test("two people in two windows see each other; a DM is theirs alone", async () => {
    const other = await openTab();
    await other.getByRole("radio", { name: "Ben" }).click();
    await other.getByPlaceholder("Message #general as Ben").waitFor();
    await write("Good morning");
    await other.getByText("Good morning").waitFor();
    await tab.getByRole("button", { name: "Remora", exact: true }).click();
    await tab.getByPlaceholder("Message Remora as Ann").waitFor();
    await write("between us", tab);
    await tab.getByText("I am here").waitFor();
    await other.getByRole("button", { name: "Remora", exact: true }).click();
    await other.getByText("Just the two of you").waitFor();
    expect(await other.getByText("between us").count()).toBe(0);
  });

  test("a failed turn is shown as one", async () => {
    await write("@remora fail");
    await thread().locator("article.failed", { hasText: "out of reach" }).waitFor();
  });

  test("commands are offered while typing, completed by Tab, and answered to the person alone", async () => {
    const box = tab.getByRole("main").getByRole("textbox");
    await box.fill("/remora st");
    await tab.getByRole("button", { name: /\/remora status/ }).waitFor();
    await box.press("Tab");
    expect(await box.inputValue()).toBe("/remora status");
    await box.press("Enter");
    await tab.getByText("only you can see this").waitFor();
    await tab.locator("code", { hasText: "local:channel:general" }).waitFor();
  });

  test("one's own message can be edited and deleted", async () => {
    await write("frist");
    await tab.getByRole("article", { name: "Ann" }).hover();
    await tab.getByRole("button", { name: "Edit the message" }).click();
    await tab.getByRole("dialog").getByRole("textbox").fill("first");
    await tab.getByRole("button", { name: "Save" }).click();
    await tab.getByText("edited", { exact: true }).waitFor();
    await tab.getByRole("article", { name: "Ann" }).hover();
    await tab.getByRole("button", { name: "Delete the message" }).click();
    await tab.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await tab.getByText("This is #general").waitFor();
    expect(agent.edited).toMatchObject([{ text: "first" }]);
    expect(agent.deleted).toHaveLength(1);
  });

  test("a person with a name full of markup is a name and nothing else", async () => {
    await tab.getByRole("button", { name: "Add a person" }).click();
    await tab.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("<img src=x onerror=alert(1)>");
    await tab.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    // They are listed before the dialog closes and the page speaks as them.
    await tab.getByRole("radio", { name: "<img src=x onerror=alert(1)>", checked: true }).waitFor();
    await write("<b>hello</b>");
    expect(await tab.getByRole("article").textContent()).toContain("<b>hello</b>");
  });

  test("keyboard alone is enough: write, reach the buttons, approve, close the thread", async () => {
    await tab.keyboard.type("@remora ask");
    await tab.keyboard.press("Enter");
    await thread().getByRole("button", { name: "Approve", exact: true }).waitFor();
    await expect.poll(() => tab.evaluate("document.activeElement.id")).toBe("thread-text");
    for (let presses = 0; presses < 12; presses++) {
      await tab.keyboard.press("Shift+Tab");
      if ((await tab.evaluate("document.activeElement.textContent")) === "Approve") break;
    }
    const outline = await tab.evaluate("getComputedStyle(document.activeElement).outlineStyle");
    expect(outline).toBe("solid");
    await tab.keyboard.press("Enter");
    await thread().getByText("Approved by Ann").waitFor();
    await tab.keyboard.press("Escape");
    await thread().waitFor({ state: "hidden" });
  });

  test("a lost connection is said, what was written stays, and it comes back by itself", async () => {
    const port = Number(new URL(page.url).port);
    await page.platform.connect(
      { ...agent.handlers, onMessage: () => Promise.reject(new Error("gone.")) },
      new AbortController().signal,
    );
    await write("do not lose me");
    await tab.getByRole("alert").getByText("couldn't save that").waitFor();
    expect(await tab.getByRole("main").getByRole("textbox").inputValue()).toBe("do not lose me");
    await tab.context().setOffline(true);
    await page.server.close();
    await tab.getByText("Connection lost").waitFor();
    await tab.getByRole("main").getByRole("textbox").press("Enter");
    const unreachable = tab.getByRole("alert").getByText("Can't reach Remora.");
    await unreachable.waitFor();
    await tab.context().setOffline(false);
    await page.restart(port);
    await page.platform.connect(agent.handlers, new AbortController().signal);
    await tab.getByText("Connection lost").waitFor({ state: "hidden" });
    await unreachable.waitFor({ state: "hidden" });
    await tab.getByRole("main").getByRole("textbox").press("Enter");
    await vi.waitFor(async () => expect(await tab.getByRole("main").getByRole("textbox").inputValue()).toBe(""));
    expect(agent.heard.map((message) => message.text)).toEqual(["do not lose me"]);
    problems = problems.filter((problem) => !/Failed to load resource|ERR_/.test(problem));
  });

  test("the hint below the message is whole or not there, in a window of 1,280 pixels", async () => {
    const small = await openTab({ width: 1_280, height: 720 });
    const composer = small.locator("#composer");
    const hint = composer.getByText("Enter to send, Shift+Enter for a new line, / for commands");
    const heightAlone = (await composer.boundingBox())?.height;
    expect(await hint.isVisible()).toBe(true);
    await write("@remora hello", small);
    await small.getByPlaceholder("Reply as Ann").waitFor();
    // Beside an almost empty channel, the thread has two thirds of the room.
    expect(await hint.isVisible()).toBe(false);
    expect((await composer.boundingBox())?.height).toBe(heightAlone);
    for (let count = 0; count < 20; count++) await write(`This is message ${count}.`, small);
    await hint.waitFor({ state: "visible" });
    expect(await hint.evaluate((element) => element.scrollWidth > element.clientWidth)).toBe(false);
    expect((await composer.boundingBox())?.height).toBe(heightAlone);
  });

  test("on a phone nothing is wider than the screen, and every place is a tap away", async () => {
    const phone = await openTab({ width: 360, height: 740 });
    await write("@remora ask two", phone);
    await phone.getByRole("button", { name: "Approve all 2" }).waitFor();
    const tooWide = () => phone.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    expect(await tooWide()).toBe(false);
    await phone.getByRole("button", { name: "Close the thread" }).click();
    await phone.getByRole("button", { name: "Conversations" }).click();
    await phone.getByRole("button", { name: "random" }).click();
    await phone.getByRole("heading", { name: "#random", exact: true }).waitFor();
    expect(await tooWide()).toBe(false);
  });
});
