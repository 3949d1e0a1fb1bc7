/** Waiting cards, search, channels, Stop, and the layout, in a real Chromium; with axe-core in both themes. */
import { describe, expect, test } from "vitest";
import { axeFindings } from "../../doubles/axe.ts";
import { browserNote, missingBrowser } from "../../doubles/browser.ts";
import { useBrowser } from "./browser-tab.ts";

describe.skipIf(missingBrowser !== undefined)(`finding one's way on the page${browserNote}`, () => {
  const world = useBrowser();

  test("a waiting card is counted in the title and named in a bar, which leads to it, until it is answered", async () => {
    const tab = await world.open("#/random");
    await world.say("@remora ask");
    await tab.getByText("Ann's request in #general is waiting for your answer.").waitFor();
    expect(await tab.locator(".waiting-what").textContent()).toBe("Run ls -la && cat <b>notes</b>.txt");
    expect(await tab.title()).toBe("(1) #random · Remora");
    await tab.getByRole("button", { name: "Show it" }).click();
    const card = tab.locator("#thread").getByRole("region", { name: "Approval needed" });
    await card.waitFor();
    await expect.poll(() => card.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await expect.poll(() => tab.locator("#waiting").isHidden()).toBe(true);
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await expect.poll(() => tab.title()).toBe("#general · Remora");
  });

  test("a person who may not answer is told nothing", async () => {
    world.page.mayAnswer = (_card, person) => person === "ben";
    const tab = await world.open("#/random");
    await world.say("@remora ask");
    await tab.getByRole("button", { name: "general" }).locator(".dot").waitFor();
    await world.say("@remora ask");
    expect(await tab.locator("#waiting").isHidden()).toBe(true);
    await tab.getByRole("radio", { name: "Ben" }).click();
    await tab.getByText("2 requests are waiting for your answer.").waitFor();
    expect(await tab.title()).toMatch(/^\(2\) /);
  });

  test("the browser announces a new card once it may, and not those that were there before", async () => {
    await world.say("@remora ask");
    const tab = await world.newTab();
    await tab.addInitScript(`
      window.announced = [];
      window.Notification = class {
        static permission = "default";
        static requestPermission = async () => (window.Notification.permission = "granted");
        constructor(title, { body, tag }) { window.announced.push([title, body, tag.split(" ")[0]]); window.last = this; }
        close() {}
      };
      document.hasFocus = () => false;
    `);
    await tab.goto(`${world.page.url}/?token=the-token-of-this-test#/random`);
    await tab.getByRole("button", { name: "Notify me" }).click();
    await tab.getByRole("button", { name: "Notify me" }).waitFor({ state: "detached" });
    await world.say("@remora ask", { channel: "random" });
    const announced = () => tab.evaluate("window.announced");
    await expect
      .poll(announced)
      .toEqual([
        [
          "Remora needs an answer",
          "Ann's request in #random is waiting for your answer.\nRun ls -la && cat <b>notes</b>.txt",
          "remora",
        ],
      ]);
    await tab.evaluate("window.last.onclick()");
    await tab.locator("#thread").getByRole("region", { name: "Approval needed" }).waitFor();
  });

  test("a browser that blocks notifications says so, and the bar stays", async () => {
    await world.say("@remora ask");
    const tab = await world.newTab();
    await tab.addInitScript(`window.Notification = class {
      static permission = "default";
      static requestPermission = async () => (window.Notification.permission = "denied");
    };`);
    await tab.goto(`${world.page.url}/?token=the-token-of-this-test#/random`);
    await tab.getByRole("button", { name: "Notify me" }).click();
    await tab.getByText("Your browser blocks notifications here.").waitFor();
    expect(await tab.getByRole("button", { name: "Show it" }).count()).toBe(1);
  });

  test("search finds channels and messages, shows markup as text, and opens the message in its thread", async () => {
    const root = await world.say("@remora hello");
    await expect.poll(async () => (await world.page.messages(`person=ann&thread=${root}`)).length).toBe(2);
    await world.say("the <b>needle</b> of general", { thread: root });
    const tab = await world.open("#/random");
    await tab.keyboard.press("Control+k");
    await tab.getByRole("textbox", { name: "Search conversations" }).fill("<b>needle");
    await tab.getByText("1 found, newest first.").waitFor();
    expect(await tab.locator(".found-text").textContent()).toBe("the <b>needle</b> of general");
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    await tab.locator("#thread .message:focus", { hasText: "needle" }).waitFor();
    await tab.getByRole("button", { name: "Search" }).click();
    await tab.getByRole("textbox", { name: "Search conversations" }).fill("nobody said this");
    await tab.getByText("Nothing found for “nobody said this”. Try fewer words.").waitFor();
    await tab.getByRole("textbox", { name: "Search conversations" }).fill("#rand");
    await tab.getByRole("button", { name: "#random" }).click();
    await tab.getByRole("heading", { name: "#random", exact: true }).waitFor();
    await tab.locator(".search-dialog").waitFor({ state: "detached" });
  });

  test("an old message is brought into view from the search, over pages that were not loaded", async () => {
    await world.say("the needle");
    for (let number = 0; number < 120; number++) await world.say(`hay ${number}`);
    const tab = await world.open();
    await tab.keyboard.press("Control+k");
    await tab.getByRole("textbox", { name: "Search conversations" }).fill("needle");
    await tab.locator(".found-one").click();
    const found = tab.locator("#log .message", { hasText: "the needle" });
    await found.waitFor();
    await expect.poll(() => found.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(60);
  });

  test("a new channel opens at once, appears in other windows, and a bad name is explained", async () => {
    const other = await world.open();
    const tab = await world.open();
    const create = async (name: string) => {
      await tab.getByRole("button", { name: "New channel" }).click();
      await tab.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill(name);
      await tab.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    };
    await create("<b>");
    await tab.getByRole("dialog").getByText("A channel name has 1 to 40 letters").waitFor();
    await tab.keyboard.press("Escape");
    await create("Büro Nord");
    await tab.getByRole("heading", { name: "#büro-nord", exact: true }).waitFor();
    await other.getByRole("button", { name: "büro-nord" }).waitFor();
    await tab.reload();
    await tab.getByRole("heading", { name: "#büro-nord", exact: true }).waitFor();
  });

  test("with 100 channels the list scrolls, and search and people stay in view", async () => {
    for (let number = 1; number <= 98; number++) await world.page.post("/local/api/channels", { name: `c${number}` });
    const tab = await world.open("#/c98");
    expect(await tab.locator("#channels li").count()).toBe(100);
    const isInView = (name: string) =>
      tab.locator(name).evaluate((element) => element.getBoundingClientRect().bottom <= 800);
    expect(await Promise.all(["#search", "#people", ".dashboard-link"].map(isInView))).toEqual([true, true, true]);
    await expect.poll(() => isInView("#channels [aria-current]")).toBe(true);
  });

  test("while Remora works, the elapsed time runs and Stop sends the command", async () => {
    world.agent.isHolding = true;
    const id = await world.say("@remora something long");
    const tab = await world.open(`#/general/${id}`);
    const line = tab.locator("#thread .working");
    await line.getByText(/Remora is working · [1-9]\d* s/).waitFor();
    await line.getByRole("button", { name: "Stop" }).click();
    await tab.locator("#thread").getByText("answers /remora stop").waitFor();
    world.agent.release();
    await line.waitFor({ state: "hidden" });
  });

  test("beside an almost empty channel the thread gets most of the room", async () => {
    const id = await world.say("@remora hello");
    const tab = await world.open(`#/general/${id}`);
    const widths = () =>
      Promise.all(["#main", "#thread"].map((name) => tab.locator(name).evaluate((element) => element.clientWidth)));
    const [place = 0, thread = 0] = await widths();
    expect(thread).toBeGreaterThan(place * 1.3);
    for (let number = 0; number < 5; number++) await world.say(`more ${number}`);
    await expect.poll(async () => ((await widths())[1] ?? 0) < 520).toBe(true);
  });

  test("a file can be dropped anywhere in the column, and a picture pasted; a miss does not leave the page", async () => {
    const tab = await world.open();
    const transfer = (name: string) =>
      tab.evaluateHandle(`(() => {
        const data = new DataTransfer();
        data.items.add(new File(["abc"], "${name}", { type: "image/png" }));
        return data;
      })()`);
    await tab.locator("#log").dispatchEvent("drop", { dataTransfer: await transfer("dropped.png") });
    await tab.getByRole("button", { name: "Remove dropped.png" }).waitFor();
    const clipboard = await transfer("pasted.png");
    await clipboard.evaluate(
      (clipboardData, paste) => new Function("clipboardData", paste)(clipboardData),
      `
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true });
      document.getElementById("composer-text").dispatchEvent(event);
    `,
    );
    await tab.getByRole("button", { name: "Remove pasted.png" }).waitFor();
    const isStopped = `(() => {
      const event = new DragEvent("drop", { cancelable: true, bubbles: true });
      document.getElementById("sidebar").dispatchEvent(event);
      return event.defaultPrevented;
    })()`;
    expect(await tab.evaluate(isStopped)).toBe(true);
    await tab.getByRole("button", { name: "Send" }).click();
    await tab.getByRole("img", { name: "pasted.png" }).waitFor();
  });

  test("without storage the page works", async () => {
    const tab = await world.newTab();
    await tab.addInitScript("Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } })");
    await tab.goto(`${world.page.url}/?token=the-token-of-this-test`);
    await tab.getByRole("main").getByRole("textbox").fill("hello");
    await tab.keyboard.press("Enter");
    await tab.locator(".said", { hasText: "hello" }).waitFor();
  });

  test("what was said while the connection was lost comes once, also in places that are not open", async () => {
    const tab = await world.open();
    await tab.context().setOffline(true);
    await world.say("in general");
    await world.say("in random", { channel: "random" });
    await tab.context().setOffline(false);
    await world.page.restart(Number(new URL(world.page.url).port));
    await world.page.platform.connect(world.agent.handlers, new AbortController().signal);
    await tab.locator("#log .said", { hasText: "in general" }).waitFor();
    await world.say("last");
    await tab.locator("#log .said", { hasText: "last" }).waitFor();
    expect(await tab.locator("#log .said").allTextContents()).toEqual(["in general", "last"]);
    await tab.getByRole("button", { name: "random" }).click();
    await tab.locator("#log .said", { hasText: "in random" }).waitFor();
    expect(await tab.locator("#log .said").allTextContents()).toEqual(["in random"]);
  });

  test.each([1280, 390])("axe finds nothing serious at %i px", async (width) => {
    world.agent.answerText =
      "## Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n```ts\nconst a = 1; // c\n```";
    const viewport = { width, height: 800 };
    const visitor = await world.newTab({ viewport });
    await visitor.goto(world.page.url);
    expect(await axeFindings(visitor)).toEqual([]);
    const tab = await world.open("", { viewport });
    expect(await axeFindings(tab)).toEqual([]);
    const answer = await world.say("@remora hello");
    const card = await world.say("@remora ask two", { channel: "random" });
    await tab.locator("#log article").waitFor();
    await tab.getByText("is waiting for your answer").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.goto(`${world.page.url}/#/general/${answer}`);
    await tab.locator("#thread .hljs-keyword").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.goto(`${world.page.url}/#/random/${card}`);
    await tab.locator("#thread .card").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.keyboard.press("Control+k");
    await tab.getByRole("textbox", { name: "Search conversations" }).fill("hello");
    await tab.locator(".found-one").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.keyboard.press("Escape");
    await tab.evaluate("document.getElementById('channel-add').click()");
    await tab.getByRole("dialog").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });
});
