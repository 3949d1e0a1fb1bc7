/** One browser and a fresh page of the local chat for each test. Every error of a tab fails the test. */
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { openTabs, type Tabs } from "../../doubles/browser.ts";
import { createScriptedAgent, type ScriptedAgent } from "./agent.ts";
import { type LocalPage, openLocalPage, token } from "./local-page.ts";

export interface PageInBrowser {
  page: LocalPage;
  agent: ScriptedAgent;
  /** Opens the page as Ann, at a hash such as `#/random`. */
  open(hash?: string, options?: BrowserContextOptions): Promise<Page>;
  newTab(options?: BrowserContextOptions): Promise<Page>;
  say(text: string, body?: object): Promise<string>;
}

/** Call it in the `describe` whose tests need it. */
export function useBrowser(): PageInBrowser {
  let tabs: Tabs;
  let problems: string[] = [];
  const world = {
    async newTab(options) {
      const tab = await tabs.open(options);
      tab.setDefaultTimeout(90_000);
      tab.on("pageerror", (error) => problems.push(error.message));
      tab.on("console", (line) => {
        if (line.type() === "error" && !line.text().startsWith("Failed to load resource")) problems.push(line.text());
      });
      return tab;
    },
    async open(hash = "", options) {
      const tab = await world.newTab(options);
      await tab.goto(`${world.page.url}/?token=${token}${hash}`);
      await tab.getByPlaceholder(/^Message /).waitFor();
      await tab.locator("#log > *").first().waitFor();
      return tab;
    },
    async say(text, body = {}) {
      const response = await world.page.post("/local/api/messages", {
        person: "ann",
        channel: "general",
        text,
        ...body,
      });
      return ((await response.json()) as { message: { id: string } }).message.id;
    },
  } as PageInBrowser;
  beforeAll(async () => {
    tabs = await openTabs();
  });
  beforeEach(async () => {
    problems = [];
    world.page = await openLocalPage();
    world.agent = createScriptedAgent(() => world.page.platform);
    await world.page.platform.connect(world.agent.handlers, new AbortController().signal);
  });
  afterEach(async () => {
    await tabs.closeAll();
    await world.page.close();
    expect(problems).toEqual([]);
  });
  return world;
}
