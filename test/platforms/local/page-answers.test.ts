/** Tables, code, task lists and copying in a real Chromium, and answers that are unusual. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserNote, missingBrowser } from "../../doubles/browser.ts";
import { useBrowser } from "./browser-tab.ts";

describe.skipIf(missingBrowser !== undefined)(`answers on the page${browserNote}`, () => {
  const world = useBrowser();

  async function answered(text: string, options = {}): Promise<Page> {
    world.agent.answerText = text;
    const id = await world.say("@remora tell me");
    const tab = await world.open(`#/general/${id}`, options);
    await tab.locator("#thread article[aria-busy=false] .markdown").waitFor();
    return tab;
  }
  const box = (tab: Page) => tab.locator("#thread .markdown");
  const isTooWide = (tab: Page) =>
    tab.evaluate<boolean>("document.documentElement.scrollWidth > document.documentElement.clientWidth");

  test.each([1280, 390])("a wide table scrolls in its own box and keeps words whole, at %i px", async (width) => {
    const head = Array.from({ length: 9 }, (_, index) => `reconciliation-${index}`);
    const tab = await answered(`| ${head.join(" | ")} |\n|${"--:|".repeat(9)}\n| ${head.join(" | ")} |`, {
      viewport: { width, height: 800 },
    });
    const table = tab.getByRole("region", { name: "Table" });
    const sizes = await table.evaluate((element) => [element.scrollWidth > element.clientWidth, element.tabIndex]);
    expect(sizes).toEqual([true, 0]);
    expect(await isTooWide(tab)).toBe(false);
    // A word on one line is as high as the line.
    expect(
      await table
        .locator("td")
        .first()
        .evaluate((cell) => cell.clientHeight),
    ).toBeLessThan(40);
    expect(
      await table
        .locator("td")
        .first()
        .evaluate((cell) => cell.getAttribute("align")),
    ).toBe("right");
  });

  test("a table of 5,000 rows shows 200, and the others on demand", async () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => `| ${index} | row ${index} |`);
    const tab = await answered(`| n | text |\n|---|---|\n${rows.join("\n")}`);
    expect(await box(tab).locator("tbody tr").count()).toBe(200);
    for (const more of ["1,000", "1,000", "1,000", "1,000", "800"])
      await tab.getByRole("button", { name: `Show ${more} more of 5,000 rows` }).click();
    await expect.poll(() => box(tab).locator("tbody tr").count()).toBe(5_000);
  });

  test("a plugin's question is framed in its own form, with its words in quotes and on no button", async () => {
    const id = await world.say("@remora question");
    const tab = await world.open(`#/general/${id}`);
    const card = tab.getByRole("region", { name: "Question of a plugin" });
    await card.waitFor();
    expect(await card.getByRole("heading").allTextContents()).toEqual(["The plugin deploy asks Ann:"]);
    expect(await card.locator("blockquote").allTextContents()).toEqual(["“Which *server* <b>?”"]);
    expect(await card.getByRole("listitem").allTextContents()).toEqual(["“Approve”", "“<b>Deny</b>”"]);
    expect(await card.getByRole("button").allTextContents()).toEqual(["Answer 1", "Answer 2"]);
    expect(await card.getByText("An answer approves nothing.").count()).toBe(1);
    expect(await tab.locator("#thread .card-head, #thread .card-facts, #thread .card.waiting").count()).toBe(0);
  });

  test("code has colours for its language, and none if the language is unknown or the code is long", async () => {
    const long = "const a = 1;\n".repeat(5_000);
    const tab = await answered(
      ["```ts\nconst a = 1; // <b>\n```", "```klingon\nconst a = 1;\n```", `\`\`\`js\n${long}\`\`\``].join("\n\n"),
    );
    await box(tab).locator("pre").first().locator(".hljs-keyword", { hasText: "const" }).waitFor();
    expect(await box(tab).locator("pre").first().textContent()).toBe("const a = 1; // <b>\n");
    expect(await box(tab).locator("pre").nth(1).locator("span").count()).toBe(0);
    expect(await box(tab).locator("pre").nth(2).locator("span").count()).toBe(0);
  });

  test("without code, the colours are not loaded", async () => {
    const tab = await world.newTab();
    const loaded: string[] = [];
    tab.on("request", (request) => loaded.push(request.url()));
    world.agent.answerText = "No code, just `inline`.";
    const id = await world.say("@remora tell me");
    await tab.goto(`${world.page.url}/?token=the-token-of-this-test#/general/${id}`);
    await box(tab).getByText("No code").waitFor();
    expect(loaded.filter((url) => url.includes("highlight"))).toEqual([]);
    expect(loaded.some((url) => url.includes("marked"))).toBe(true);
  });

  test("code and answers are copied as they were written, and a refusal by the browser is told", async () => {
    const tab = await answered("Take **this**:\n\n```sh\nls -la\n```\n", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    // What is told goes away after two seconds, which a busy machine can miss.
    await tab.evaluate("globalThis.setTimeout = () => 0");
    await tab.locator("#thread .code-box").hover();
    await tab.getByRole("button", { name: "Copy the code" }).click();
    await tab.locator("#thread .code-box").getByText("Copied").waitFor();
    expect(await tab.evaluate("navigator.clipboard.readText()")).toBe("ls -la\n");
    await tab.locator("#thread article").last().hover();
    await tab.locator("#thread").getByRole("button", { name: "Copy the answer" }).click();
    await expect
      .poll(() => tab.evaluate("navigator.clipboard.readText()"))
      .toBe("Take **this**:\n\n```sh\nls -la\n```\n");
    await tab.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
    await tab.getByRole("button", { name: "Copy the code" }).click();
    await tab.getByText("Couldn't copy. Select the text instead.").waitFor();
  });

  test("task lists are checkboxes that nobody can click, and raw HTML makes none", async () => {
    const tab = await answered("- [x] read\n- [ ] write\n\n<input type=checkbox> and 3 more\n\n3. third");
    const ticks = box(tab).getByRole("checkbox");
    expect(await ticks.count()).toBe(2);
    expect(await tab.getByRole("checkbox", { name: "Done", exact: true }).isChecked()).toBe(true);
    expect(await tab.getByRole("checkbox", { name: "Not done" }).isChecked()).toBe(false);
    expect(await ticks.first().isDisabled()).toBe(true);
    expect(await box(tab).locator("ol").getAttribute("start")).toBe("3");
  });

  test.each([
    ["only emoji", "🎉🎉👩‍👩‍👧‍👦"],
    ["right to left", "שלום עולם, **טוב**\n\n- אחד\n- שתיים"],
    ["a very long word", "x".repeat(20_000)],
    ["emphasis that never ends", "a_b_".repeat(20_000)],
    ["a code block of 1 MB", `\`\`\`js\n${"const a = 1;\n".repeat(80_000)}\`\`\``],
  ])("%s fits on a phone", async (_name, text) => {
    const tab = await answered(text, { viewport: { width: 390, height: 800 } });
    expect((await box(tab).textContent())?.length).toBeGreaterThan(3);
    expect(await isTooWide(tab)).toBe(false);
  });

  test("text from right to left starts at the right", async () => {
    const tab = await answered("שלום עולם");
    const [paragraph, around] = await box(tab).evaluate((element) => {
      const range = element.ownerDocument.createRange();
      range.selectNodeContents(element.querySelector("p") as never);
      return [range.getBoundingClientRect().right, element.getBoundingClientRect().right];
    });
    expect(Math.abs(Number(paragraph) - Number(around))).toBeLessThan(3);
  });
});
