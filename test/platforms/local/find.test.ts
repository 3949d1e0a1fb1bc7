/** Channels that people add, search, and the list of waiting cards: through the API, as the page uses them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FoundMessage } from "../../../src/platforms/local/chat-search.ts";
import { createScriptedAgent, type ScriptedAgent } from "./agent.ts";
import { type LocalPage, openLocalPage } from "./local-page.ts";

let page: LocalPage;
let agent: ScriptedAgent;
beforeEach(async () => {
  page = await openLocalPage();
  agent = createScriptedAgent(() => page.platform);
  await page.platform.connect(agent.handlers, new AbortController().signal);
});
afterEach(() => page.close());

async function say(text: string, body: object = {}): Promise<string> {
  const response = await page.post("/local/api/messages", { person: "ann", channel: "general", text, ...body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { message: { id: string } }).message.id;
}

async function json<T>(path: string): Promise<T> {
  return (await (await page.fetch(path)).json()) as T;
}

describe("channels", () => {
  const create = (name: string) => page.post("/local/api/channels", { name });
  const channels = async () => (await json<{ channels: string[] }>("/local/api/state?person=ann")).channels;

  test.each([
    ["Release Notes", "release-notes"],
    ["#ops", "ops"],
    ["büro_2", "büro_2"],
    ["会議", "会議"],
  ])("%j becomes #%s, takes messages, and is there after a restart", async (given, name) => {
    const response = await create(given);
    expect([response.status, await response.json()]).toEqual([201, { channel: name }]);
    await say("hello", { channel: name });
    await page.restart();
    expect(await channels()).toEqual(["general", "random", name]);
    const [message] = await page.messages(`person=ben&place=${encodeURIComponent(`channel:${name}`)}`);
    expect(message?.text).toBe("hello");
    expect(agent.heard).toMatchObject([{ scope: `channel:${name}` }]);
  });

  test.each(["", "#", "  ", "a/b", "..", "a:b", "-x", "<b>", "a\u202Eb", "x".repeat(41)])(
    "%j is refused with the rule",
    async (name) => {
      const response = await create(name);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("A channel name has 1 to 40 letters, digits, hyphens or underscores");
    },
  );

  test("a name that is taken, reserved or too long in its script is refused", async () => {
    expect(await (await create("General")).json()).toEqual({
      error: "#general exists already. Open it in the list, or choose another name.",
    });
    expect(await (await create("dm")).json()).toEqual({ error: "“dm” is reserved. Choose another name." });
    expect(await (await create("会".repeat(30))).json()).toEqual({
      error: "This name is too long in this script. Use fewer characters.",
    });
  });

  test("there can be 200", async () => {
    for (let number = 3; number <= 200; number++) expect((await create(`c${number}`)).status).toBe(201);
    expect(await (await create("one-more")).json()).toEqual({
      error: "There are already 200 channels, which is the maximum. Use one of them.",
    });
  });
});

describe("search", () => {
  interface Result {
    found: FoundMessage[];
    next?: number;
  }
  const search = (query: string, more: Record<string, string> = {}) =>
    json<Result>(`/local/api/search?${new URLSearchParams({ person: "ann", query, ...more })}`);
  const texts = ({ found }: Result) => found.map(({ excerpt }) => Object.values(excerpt).join(""));

  test("finds every word in any case, newest first, with the place, and marks the first", async () => {
    await say("The deploy went well");
    const id = await say("DEPLOY again, well done");
    await say("nothing here");
    const result = await search("deploy well");
    expect(texts(result)).toEqual(["DEPLOY again, well done", "The deploy went well"]);
    expect(result.found[0]).toMatchObject({ id, place: "channel:general", thread: null, author: { name: "Ann" } });
    expect(result.found[1]?.excerpt).toEqual({ before: "The ", match: "deploy", after: " went well" });
    expect(result.next).toBeUndefined();
  });

  test.each([".*", "[a-z]+(", "a|b", "$^", "\\d", "<b>bold</b>", "%", "'; DROP TABLE messages; --"])(
    "%j is searched as it is written",
    async (query) => {
      await say("abc 123");
      await say(`before ${query} after`);
      expect(texts(await search(query))).toEqual([`before ${query} after`]);
    },
  );

  test("a person finds their own DM and the channels, and neither another's DM nor what was deleted", async () => {
    await say("needle in the channel");
    await say("needle between us", { channel: undefined, dm: true });
    await say("needle of Ben", { person: "ben", channel: undefined, dm: true });
    const gone = await say("needle that is gone");
    await page.fetch(`/local/api/messages/${gone}`, { method: "DELETE", body: JSON.stringify({ person: "ann" }) });
    expect(texts(await search("needle"))).toEqual(["needle between us", "needle in the channel"]);
    expect(texts(await search("needle", { person: "nobody" }))).toEqual(["needle in the channel"]);
  });

  test("goes on where it stopped, repeats nothing, and shortens long texts around the match", async () => {
    for (let number = 1; number <= 35; number++)
      await say(`${"x".repeat(5_000)} number ${number} ${"y".repeat(5_000)}`);
    const first = await search("number");
    const second = await search("number", { before: `${first.next}` });
    expect(first.found).toHaveLength(30);
    expect(second.found).toHaveLength(5);
    expect(second.next).toBeUndefined();
    expect(new Set([...first.found, ...second.found].map(({ id }) => id)).size).toBe(35);
    expect(texts(first)[0]).toMatch(/^…x+ number 35 y+…$/);
    expect(texts(first)[0]?.length).toBeLessThan(300);
  });

  test("an empty query finds nothing, and one that is too long is refused", async () => {
    await say("hello");
    expect(await search("  ")).toEqual({ found: [] });
    expect(await search("x".repeat(201))).toEqual({ error: "Search for at most 200 characters." });
  });
});

test("the waiting cards are those that this person may answer", async () => {
  page.mayAnswer = (_card, person) => person === "ben";
  const id = await say("@remora ask");
  const waiting = async (person: string) =>
    (
      await json<{ cards: { place: string; thread: string; requester: string }[] }>(
        `/local/api/waiting?person=${person}`,
      )
    ).cards;
  await expect.poll(() => waiting("ben")).toMatchObject([{ place: "channel:general", thread: id, requester: "Ann" }]);
  expect(await waiting("ann")).toEqual([]);
  expect(await waiting("nobody")).toEqual([]);
});
