/** Changes to a configured folder, on the page in a real browser. */
import type { Locator, Page } from "playwright-core";
import { describe } from "vitest";
import { browserNote, launchBrowser, missingBrowser } from "../doubles/browser.ts";
import { type ChangesDriver, tellChanges } from "./changes-story.ts";

async function createDriver(): Promise<ChangesDriver> {
  const browser = await launchBrowser();
  let tab: Page;
  const panel = () => tab.getByRole("complementary", { name: "Thread" });
  const cards = () => panel().getByRole("region", { name: /^(?:Approval needed|Changes)$/ });

  async function say(from: Locator, text: string): Promise<void> {
    const box = from.getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  async function as(person: "Ann" | "Ben"): Promise<void> {
    await tab.getByRole("radio", { name: person }).click();
    await tab.getByPlaceholder(`Reply as ${person}`).waitFor();
  }

  return {
    conversation: "local:channel:general",
    env: {},
    async connect(remora) {
      tab = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
      tab.setDefaultTimeout(90_000);
      await tab.goto(`${remora.url}/?token=${remora.token}`);
    },
    close: () => browser.close(),
    async ask(text) {
      const before = tab.url();
      await say(tab.getByRole("main"), `@remora ${text}`);
      // Until then, the thread of the request before may say the same.
      await tab.waitForURL(({ href }) => href !== before);
      await panel().getByText(text.slice(0, 30)).first().waitFor();
      return {
        say: (more) => say(panel(), more),
        answers: async () => (await panel().getByRole("article").allInnerTexts()).join("\n"),
        // All at once: one at a time, a card that has gone is waited for, for example while another thread opens.
        cards: () =>
          cards().evaluateAll((all) =>
            all.map((card) => {
              const buttons = [...card.querySelectorAll("button")].filter((button) => button.checkVisibility());
              // The browser leaves out of `innerText` what it has not drawn yet.
              const diffs = [...card.querySelectorAll(".diff")].map((diff) => diff.textContent);
              return {
                text: [card.innerText, ...diffs].join("\n"),
                buttons: buttons.map((button) => button.textContent),
              };
            }),
          ),
        async press(button, by = "Ann") {
          if (by !== "Ann") await as(by);
          await cards().last().getByRole("button", { name: button, exact: true }).click();
          if (by === "Ann") return;
          await panel()
            .getByText(/can answer this/)
            .waitFor();
          await as("Ann");
        },
        async whole() {
          const card = cards().last();
          const shown = [await card.textContent()];
          const button = card.getByRole("button", { name: "Show diff" });
          if ((await button.count()) > 0) {
            await button.click();
            shown.push(await tab.getByRole("region", { name: "The whole diff" }).textContent());
            await tab.getByRole("dialog").getByRole("button", { name: "Close" }).click();
          }
          return shown.join("\n");
        },
        async allow() {
          const menu = cards().last().locator("details.card-more");
          await menu.locator("summary").click();
          await menu.getByRole("button", { name: /^Allow here/ }).click();
          await tab.getByRole("dialog").getByRole("button", { name: "Allow", exact: true }).click();
        },
        async choose(paths) {
          await cards().last().getByRole("button", { name: "Choose files…" }).click();
          const form = tab.getByRole("dialog");
          await form.getByRole("checkbox", { name: "All files" }).uncheck();
          for (const path of paths) await form.getByRole("checkbox", { name: path }).check();
          await form.getByRole("button", { name: /^Keep \d of/ }).click();
        },
      };
    },
  };
}

describe.skipIf(missingBrowser !== undefined)(`changes on the page${browserNote}`, () => {
  tellChanges(createDriver);
});
