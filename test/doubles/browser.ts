/**
 * A real Chromium for page tests, without background requests. Without a user interface of its own, if the package for that
 * is installed: the same engine then takes half the processor time.
 *
 *   const browser = await launchBrowser();
 *   const tabs = await openTabs();
 *
 * The files that share a worker share the browser, because starting one takes longer than most tests. It ends with the worker.
 *
 * Without the program, suites are skipped with the reason (`describe.skipIf(missingBrowser !== undefined)`). With `CI=true`
 * nothing can be skipped: `missingBrowser` stays undefined, and `launchBrowser` fails with that reason.
 */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = programs.find((path) => existsSync(path));
const problem =
  executablePath === undefined
    ? `no Chromium at ${programs.join(" or ")}; install it: apt-get install -y chromium`
    : undefined;

/** Why browser suites are skipped; undefined when they must run. */
export const missingBrowser = process.env.CI === "true" ? undefined : problem;

/** Appended to a suite's name, so the report shows the reason. */
export const browserNote = missingBrowser === undefined ? "" : ` (skipped: ${missingBrowser})`;

let browser: Browser | undefined;
let tabs: Tabs | undefined;

/** The one that runs, or a new one if that was closed. */
export async function launchBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(problem);
  if (browser?.isConnected()) return browser;
  tabs = undefined;
  browser = await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--headless",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      // One process for all pages. Otherwise each gets its own, because each test's server is another site. The features
      // are those that Playwright turns off; the last such list counts.
      "--renderer-process-limit=1",
      "--disable-site-isolation-trials",
      "--disable-features=IsolateOrigins,site-per-process,PaintHolding,HttpsUpgrades,MediaRouter,ThirdPartyStoragePartitioning",
    ],
  });
  return browser;
}

export interface Tabs {
  open(options?: BrowserContextOptions): Promise<Page>;
  /** After each test. */
  closeAll(): Promise<void>;
}

export async function openTabs(): Promise<Tabs> {
  const running = await launchBrowser();
  tabs ??= createTabs(running);
  return tabs;
}

/**
 * Tabs for one test after another. The first tab of each test is in one context, next to a blank tab that keeps its process
 * alive: a new context and a new process would cost more processor time than most tests. What a test stores there is gone
 * before the next one. Further tabs, and those with options, get a context of their own.
 */
function createTabs(browser: Browser): Tabs {
  // Pages without animations are painted only when they change.
  const settings = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" } as const;
  let blank: Page | undefined;
  let first: Page | undefined;

  async function openShared(): Promise<Page> {
    blank ??= await (await browser.newContext(settings)).newPage();
    return await blank.context().newPage();
  }

  /** Cookies are the same for all ports; everything else belongs to the origin, or is a setting of the context. */
  async function empty(tab: Page): Promise<void> {
    const { origin } = new URL(tab.url());
    const context = tab.context();
    await tab.close();
    await context.setOffline(false);
    await context.clearPermissions();
    await context.clearCookies();
    if (blank === undefined || origin === "null") return;
    const session = await context.newCDPSession(blank);
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await session.detach();
  }

  return {
    async open(options) {
      if (first !== undefined || options !== undefined) {
        return await (await browser.newContext({ ...settings, ...options })).newPage();
      }
      first = await openShared();
      return first;
    },
    async closeAll() {
      for (const context of browser.contexts()) if (context !== blank?.context()) await context.close();
      if (first !== undefined) await empty(first);
      first = undefined;
    },
  };
}
