/** The page in a real Chromium while the server answers late or not at all: no words are lost, and none go elsewhere. */
import type { Page, Route } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { browserNote, missingBrowser } from "../../doubles/browser.ts";
import { useBrowser } from "./browser-tab.ts";

describe.skipIf(missingBrowser !== undefined)(`late answers to the page${browserNote}`, () => {
  const world = useBrowser();
  let tab: Page;

  beforeEach(async () => {
    tab = await world.open();
  });

  const thread = () => tab.getByRole("complementary", { name: "Thread" });

  async function write(text: string): Promise<void> {
    const box = tab.getByRole("main").getByRole("textbox");
    await box.fill(text);
    await box.press("Enter");
  }

  test("after a click by keyboard, the card has the focus, also if it changed before the receipt came", async () => {
    await write("@remora ask");
    const approve = thread().getByRole("button", { name: "Approve", exact: true });
    await approve.waitFor();
    await tab.route("**/local/api/answers", async (route) => {
      const response = await route.fetch();
      await thread().getByText("Approved by Ann").waitFor();
      await route.fulfill({ response });
    });
    await approve.press("Enter");
    await expect.poll(() => tab.evaluate("document.activeElement.ariaLabel")).toBe("Approved request");
  });

  test("the receipt of a click comes late, and what a person types meanwhile goes on", async () => {
    await write("@remora ask");
    const approve = thread().getByRole("button", { name: "Approve", exact: true });
    await approve.waitFor();
    const isTyping = Promise.withResolvers<void>();
    await tab.route("**/local/api/answers", async (route) => {
      await isTyping.promise;
      await route.continue();
    });
    const receipt = tab.waitForResponse("**/local/api/answers");
    await approve.click();
    const box = tab.getByRole("main").getByRole("textbox");
    await box.pressSequentially("@remora ");
    isTyping.resolve();
    await (await receipt).finished();
    await tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await tab.keyboard.type("again");
    expect(await box.inputValue()).toBe("@remora again");
  });

  test.for(["POST", "GET"])("a thread opens late (%s), and a person's next words stay in their box", async (method) => {
    const isTyping = Promise.withResolvers<void>();
    await tab.route(/local\/api\/messages/, async (route) => {
      if (route.request().method() === method) await isTyping.promise;
      await route.continue();
    });
    const box = tab.getByRole("main").getByRole("textbox");
    const asked = tab.waitForRequest((request) => request.method() === method && request.url().includes("/messages"));
    const opened = tab.waitForResponse((response) => response.url().includes("thread="));
    await box.fill("@remora hello");
    await box.press("Enter");
    await asked;
    await box.fill("@remora ");
    await box.pressSequentially("and ");
    isTyping.resolve();
    await (await opened).finished();
    await tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await tab.keyboard.type("again");
    expect(await box.inputValue()).toBe("@remora and again");
  });

  test("a thread opens late, and does not take the box of another thread from a person who writes there", async () => {
    await write("@remora hello");
    const box = thread().getByRole("textbox");
    await box.waitFor();
    const before = tab.url();
    const isTyping = Promise.withResolvers<void>();
    await tab.route("**/local/api/messages", async (route) => {
      await isTyping.promise;
      await route.continue();
    });
    const accepted = tab.waitForResponse("**/local/api/messages");
    await write("@remora hello again");
    await box.pressSequentially("for the first ");
    isTyping.resolve();
    await (await accepted).finished();
    await tab.getByRole("main").getByRole("textbox").and(tab.locator(":placeholder-shown")).waitFor();
    await tab.keyboard.type("thread");
    expect([tab.url(), await box.inputValue()]).toEqual([before, "for the first thread"]);
  });

  test("words that are written while a message is sent stay, also if another place is opened meanwhile", async () => {
    const isElsewhere = Promise.withResolvers<void>();
    await tab.route("**/local/api/messages", async (route) => {
      await isElsewhere.promise;
      await route.continue();
    });
    const accepted = tab.waitForResponse("**/local/api/messages");
    await write("first");
    const box = tab.getByRole("main").getByRole("textbox");
    await box.fill("second");
    await tab.getByRole("button", { name: "random" }).click();
    await tab.getByPlaceholder("Message #random as Ann").waitFor();
    isElsewhere.resolve();
    await (await accepted).finished();
    await tab.locator("#composer .send:enabled").waitFor();
    await tab.getByRole("button", { name: "general" }).click();
    await tab.getByPlaceholder("Message #general as Ann").waitFor();
    expect(await box.inputValue()).toBe("second");
  });

  test("words that are written anew are another message, also if the answer to the same words was lost", async () => {
    const isLost = tab.waitForEvent("requestfailed");
    const loseAnswer = async (route: Route) => {
      await route.fetch();
      await route.abort();
    };
    await tab.route("**/local/api/messages", loseAnswer, { times: 1 });
    await write("@remora hello");
    await isLost;
    await tab.locator("#composer .send:enabled").waitFor();
    await tab.getByRole("main").getByRole("textbox").fill("");
    await write("@remora hello");
    await thread().waitFor();
    expect(world.agent.heard).toHaveLength(2);
  });

  test("after a change of the person that failed, the page still hears what others write", async () => {
    await tab.route("**/local/api/state*", (route) => route.abort());
    await tab.getByRole("radio", { name: "Ben" }).click();
    await tab.getByText("Can't reach Remora.").waitFor();
    await world.page.post("/local/api/messages", { person: "ben", channel: "general", text: "are you there?" });
    await tab.getByRole("main").getByText("are you there?").waitFor();
  });

  test("two quick changes of the person leave one stream open", async () => {
    await tab.evaluate(`{
      const Stream = EventSource;
      globalThis.streams = [];
      globalThis.EventSource = function (url) {
        streams.push(new Stream(url));
        return streams.at(-1);
      };
      Object.assign(EventSource, { CLOSED: Stream.CLOSED });
    }`);
    const isClicked = Promise.withResolvers<void>();
    await tab.route("**/local/api/state*", async (route) => {
      await isClicked.promise;
      await route.continue();
    });
    for (let times = 0; times < 2; times++) await tab.getByRole("radio", { name: "Ben" }).click();
    isClicked.resolve();
    await expect.poll(() => tab.evaluate("streams.length")).toBe(2);
    expect(await tab.evaluate("streams.filter(({ readyState }) => readyState !== EventSource.CLOSED).length")).toBe(1);
  });
});
