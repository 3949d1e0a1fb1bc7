/** Cards about changes in a real Chromium: what is seen, each choice, the diff and the choice of files, by keyboard too. */
import type { Page, ViewportSize } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { browserNote, missingBrowser, openTabs, type Tabs } from "../../doubles/browser.ts";
import { type ChangingAgent, createChangingAgent } from "./changes-script.ts";
import { type LocalPage, openLocalPage, token } from "./local-page.ts";

describe.skipIf(missingBrowser !== undefined)(`changes on the local page${browserNote}`, () => {
  let tabs: Tabs;
  let page: LocalPage;
  let agent: ChangingAgent;
  let tab: Page;
  let problems: string[];

  beforeAll(async () => {
    tabs = await openTabs();
  });

  beforeEach(async () => {
    page = await openLocalPage();
    agent = createChangingAgent(() => page.platform);
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

  async function say(text: string, from: Page = tab): Promise<void> {
    const box = from.getByRole("main").getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  const thread = (from: Page = tab) => from.getByRole("complementary", { name: "Thread" });
  const askingCard = (from: Page = tab) => thread(from).getByRole("region", { name: "Approval needed" });
  const settledCard = () => thread().getByRole("region", { name: "Changes", exact: true });
  const button = (name: string, from: Page = tab) => thread(from).getByRole("button", { name, exact: true });
  const dialog = (from: Page = tab) => from.getByRole("dialog");
  const isTooWide = (from: Page) =>
    from.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");

  function longDiff(lines: number): string {
    const added = Array.from(
      { length: lines },
      (_, index) => `+line ${index} \`\`\` <script>window.hacked = 1</script>`,
    );
    return ["--- a/x", "+++ b/x", `@@ -0,0 +1,${lines} @@`, ...added].join("\n");
  }

  test("the answer stands above the card; deletions come first, markup is text, and the buttons are the card's", async () => {
    await say("@remora change");
    await askingCard().waitFor();
    const order = await thread().getByRole("article").allTextContents();
    expect(order[1]).toContain("I have renamed the pages");
    const files = await askingCard()
      .getByRole("list", { name: "Changed files" })
      .getByRole("listitem")
      .allTextContents();
    expect(files.map((text) => text.split(" ")[0])).toEqual([
      ...["deleted", "deleted", "changed", "changed", "added", "added"],
    ]);
    expect(files[4]).toBe("added site/<b>team</b>.html +58");
    const commands = askingCard().getByRole("list", { name: "Commands that ran" }).getByRole("listitem");
    expect(await commands.nth(1).textContent()).toBe("npm test — exit code 0");
    expect(await askingCard().getByRole("region", { name: "End of the last output" }).textContent()).toContain(
      "pass 12",
    );
    const diff = askingCard().getByRole("region", { name: "The diff" });
    expect(await diff.textContent()).toBe(agent.wholeDiff);
    expect(await diff.locator("del").allTextContents()).toContain(
      "-- a line that begins with two dashes\n".padStart(39, "-"),
    );
    await askingCard()
      .getByRole("list", { name: "What to know before you answer" })
      .getByText("can't be undone")
      .waitFor();
    const names = await askingCard().getByRole("button").allTextContents();
    expect(names).toEqual(["Approve", "Deny", "Choose files…", "Show diff"]);
  });

  test("Approve settles it: the card shrinks to a few lines with Undo, and Undo takes it back", async () => {
    await say("@remora change");
    await askingCard().waitFor();
    const height = (await askingCard().boundingBox())?.height ?? 0;
    await button("Approve").click();
    await settledCard().getByText("Approved by Ann").waitFor();
    expect((await settledCard().boundingBox())?.height ?? height).toBeLessThan(height / 2);
    expect(await settledCard().textContent()).not.toContain("exit code");
    await button("Undo").click();
    await settledCard().getByText("Undone by Ann").waitFor();
    expect(await settledCard().getByRole("button").count()).toBe(0);
    expect(agent.answers.map(({ choice }) => choice)).toEqual(["approve", "undo"]);
  });

  test("a report is quiet: title, outcome, a few files with the rest folded, Undo", async () => {
    await say("@remora keep");
    await settledCard().getByText("Kept").first().waitFor();
    expect(await settledCard().getByText("site/logo.png").isVisible()).toBe(false);
    await settledCard().getByText("and 3 more files").click();
    expect(await settledCard().getByText("site/logo.png").isVisible()).toBe(true);
    expect(await settledCard().getByRole("button").allTextContents()).toEqual(["Undo", "Show diff"]);
    expect(await tab.getByRole("button", { name: /needs an answer/ }).count()).toBe(0);
  });

  test("Choose files sends those that stayed chosen; with none it says what to use instead", async () => {
    await say("@remora change");
    await button("Choose files…").click();
    const boxes = dialog().getByRole("checkbox");
    expect(await boxes.count()).toBe(7);
    await dialog().getByRole("checkbox", { name: "All files" }).uncheck();
    await dialog().getByRole("button", { name: "Keep 0 of 6" }).click();
    await dialog().getByRole("alert").getByText("To keep none, use “Deny”").waitFor();
    expect(agent.answers).toEqual([]);
    await dialog().getByRole("checkbox", { name: "site/style.css" }).check();
    await dialog().getByRole("checkbox", { name: "site/logo.png" }).check();
    await dialog().getByRole("button", { name: "Keep 2 of 6" }).click();
    await settledCard().getByText("2 files kept by Ann").waitFor();
    expect(agent.answers).toMatchObject([{ choice: "part", parts: [2, 5], by: { id: "ann" } }]);
  });

  test("a choice of files that is closed is no answer", async () => {
    await say("@remora change");
    await button("Choose files…").click();
    await tab.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    await button("Approve").waitFor();
    expect(agent.answers).toEqual([]);
  });

  test("anyone sees the diff, alone; everything else is the desk's to decide, and is told on the card", async () => {
    agent.wholeDiff = longDiff(3_000);
    await say("@remora change");
    await askingCard().getByText("and 1,204 more files").waitFor();
    await tab.getByRole("radio", { name: "Ben" }).click();
    await tab.getByPlaceholder("Reply as Ben").waitFor();
    await button("Show diff").click();
    const diff = dialog().getByRole("region", { name: "The whole diff" });
    expect(await diff.textContent()).toBe(agent.wholeDiff);
    expect(await diff.locator("script").count()).toBe(0);
    expect(await diff.locator("ins").count()).toBe(3_000);
    const download = tab.waitForEvent("download");
    await dialog().getByRole("link", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toBe("changes.diff");
    await dialog().getByRole("button", { name: "Close" }).click();
    await button("Approve").click();
    await thread().getByText("Only Ann can answer this.").waitFor();
    expect(agent.answers.map(({ choice, by }) => [choice, by.id])).toEqual([
      ["diff", "ben"],
      ["approve", "ben"],
    ]);
  });

  test("a diff of tens of thousands of lines is shown in portions that lose no line", async () => {
    agent.wholeDiff = longDiff(45_000);
    await say("@remora change");
    await askingCard().getByText("and 1,204 more files").waitFor();
    await button("Show diff").click();
    const diff = dialog().getByRole("region", { name: "The whole diff" });
    for (const left of ["25,003 lines left", "5,003 lines left"])
      await diff.getByRole("button", { name: `Show more (${left})` }).click();
    await vi.waitFor(async () => expect((await diff.textContent()) === agent.wholeDiff).toBe(true));
  });

  test("by keyboard alone: open the diff, scroll to its end, close it, choose files, send", async () => {
    agent.wholeDiff = longDiff(500);
    await say("@remora change");
    await button("Show diff").focus();
    await tab.keyboard.press("Enter");
    const diff = dialog().getByRole("region", { name: "The whole diff" });
    await diff.waitFor();
    expect(await tab.evaluate("document.activeElement.ariaLabel")).toBe("The whole diff");
    await tab.keyboard.press("End");
    await vi.waitFor(async () => expect(await diff.getByText("line 499").isVisible()).toBe(true));
    await tab.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    expect(await thread().isVisible()).toBe(true);
    expect(await tab.evaluate("document.activeElement.textContent")).toBe("Show diff");
    await button("Choose files…").focus();
    await tab.keyboard.press("Enter");
    await dialog().waitFor();
    await dialog().getByRole("checkbox", { name: "site/about.html" }).focus();
    await tab.keyboard.press("Space");
    await tab.keyboard.press("Enter");
    await settledCard().getByText("5 files kept by Ann").waitFor();
    expect(agent.answers.at(-1)?.parts).toEqual([1, 2, 3, 4, 5]);
  });

  test("a card taller than the screen is shown from its top, and stays where a person scrolls it", async () => {
    const phone = await openTab({ width: 390, height: 780 });
    await say("@remora change", phone);
    await askingCard(phone).getByText("Approval needed").waitFor();
    const deny = button("Deny", phone);
    const placeOf = async () => Math.round((await deny.boundingBox())?.y ?? 0);
    expect(await placeOf()).toBeGreaterThan(780);
    await deny.scrollIntoViewIfNeeded();
    const place = await placeOf();
    expect(place).toBeLessThan(780);
    await say("something else happens");
    await phone.getByText("something else happens").waitFor({ state: "attached" });
    expect(await placeOf()).toBe(place);
  });

  test("on a phone card, diff and choice of files are no wider than the screen, and every line can be read", async () => {
    const phone = await openTab({ width: 390, height: 780 });
    agent.wholeDiff = `--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+${"word ".repeat(200)}${"x".repeat(3_000)}`;
    await say("@remora change", phone);
    await button("Show diff", phone).click();
    const diff = dialog(phone).getByRole("region", { name: "The whole diff" });
    await diff.waitFor();
    const hidden = "document.querySelector('.whole').scrollWidth - document.querySelector('.whole').clientWidth";
    expect(await phone.evaluate(hidden)).toBe(0);
    expect(await isTooWide(phone)).toBe(false);
    await dialog(phone).getByRole("button", { name: "Close" }).click();
    await button("Choose files…", phone).click();
    const submit = dialog(phone).getByRole("button", { name: "Keep 6 of 6" });
    expect((await submit.boundingBox())?.y ?? 9_999).toBeLessThan(780);
    expect(await isTooWide(phone)).toBe(false);
    await submit.click();
    await thread(phone).getByText("6 files kept by Ann").waitFor();
    expect(await isTooWide(phone)).toBe(false);
  });
});
