/** web_search against the protocols of its providers, on loopback. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createWeb } from "../../skills/web/web.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";
import { isOk, makePlace, type TestPlace, textOf } from "./place.ts";

let site: WebSite;
let place: TestPlace;
let asked: { path: string; method: string; headers: { [name: string]: unknown }; body: string }[];
const web = createWeb({ resolve: async () => ["127.0.0.1"] });
beforeEach(async () => {
  site = await startWebSite();
  place = await makePlace();
  asked = [];
});
afterEach(async () => {
  await site.close();
  await place.remove();
});

function answer(path: string, status: number, body: unknown, headers: { [name: string]: string } = {}): void {
  site.on(path, (response, request) => {
    let sent = "";
    request.on("data", (chunk) => (sent += chunk));
    request.on("end", () => {
      asked.push({ path: request.url ?? "", method: request.method ?? "", headers: request.headers, body: sent });
      const text = typeof body === "string" ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
    });
  });
}

async function search(
  settings: JsonObject | undefined,
  input: JsonObject = { query: "node sqlite" },
  signal?: AbortSignal,
) {
  const config = settings === undefined ? {} : { search: settings };
  const result = await web.execute(
    "web_search",
    input,
    place.context("web", { config, ...(signal === undefined ? {} : { signal }) }),
  );
  return { isOk: isOk(result), text: textOf(result) };
}

test("without a provider it says how to get one, and what to do until then", async () => {
  for (const settings of [undefined, { provider: "none" }]) {
    const { isOk: ok, text } = await search(settings);
    expect(ok).toBe(false);
    expect(text).toMatch(/skills\.settings\.web\.search.*searxng.*brave.*tavily.*web_fetch/);
  }
});

describe("the providers", () => {
  const results = [
    { title: "SQLite | Node.js", url: "https://nodejs.org/api/sqlite.html" },
    { title: "Second", url: "https://example.com/2#part" },
  ];
  const expected = [
    "1. SQLite | Node.js (2026-11-01)\n   https://nodejs.org/api/sqlite.html\n   The node:sqlite module.",
    "2. Second (2026-11-01)\n   https://example.com/2\n   The node:sqlite module.",
  ].join("\n\n");

  test("SearXNG", async () => {
    answer("/sub/search", 200, {
      results: results.map((one) => ({
        ...one,
        content: "The node:sqlite module.",
        publishedDate: "2026-11-01",
        engine: "x",
      })),
    });
    expect(await search({ provider: "searxng", url: `${site.origin}/sub` })).toEqual({ isOk: true, text: expected });
    expect(asked[0]).toMatchObject({ path: "/sub/search?q=node+sqlite&format=json&pageno=1", method: "GET" });
    expect(asked[0]?.headers.authorization).toBeUndefined();
  });

  test("Brave", async () => {
    const found = results.map((one) => ({
      ...one,
      description: "The <strong>node:sqlite</strong> module.",
      age: "2026-11-01",
    }));
    answer("/res/v1/web/search", 200, { type: "search", web: { results: found } });
    expect(
      await search({ provider: "brave", url: site.origin, apiKey: "brave-key" }, { query: "node sqlite", count: 5 }),
    ).toEqual({
      isOk: true,
      text: expected,
    });
    expect(asked[0]?.path).toBe("/res/v1/web/search?q=node+sqlite&count=5&offset=0&text_decorations=false");
    expect(asked[0]?.headers["x-subscription-token"]).toBe("brave-key");
    answer("/res/v1/web/search", 200, { type: "search" });
    expect((await search({ provider: "brave", url: site.origin, apiKey: "k" })).text).toContain("No results for");
  });

  test("Tavily", async () => {
    const found = results.map((one) => ({
      ...one,
      content: "The node:sqlite module.",
      score: 0.9,
      published_date: "2026-11-01",
    }));
    answer("/search", 200, { query: "x", results: found });
    expect(
      await search({ provider: "tavily", url: site.origin, apiKey: "tvly-key" }, { query: "node sqlite", count: 3 }),
    ).toEqual({
      isOk: true,
      text: expected,
    });
    expect(asked[0]).toMatchObject({ method: "POST", headers: { authorization: "Bearer tvly-key" } });
    expect(JSON.parse(asked[0]?.body ?? "")).toEqual({ query: "node sqlite", max_results: 3, search_depth: "basic" });
  });
});

describe("results", () => {
  const searxng = () => ({ provider: "searxng", url: site.origin });

  test("are as many as asked for, clean, bounded, and only what can be fetched", async () => {
    const odd = [
      { title: "<b>A &amp; B</b>\u202e &constructor; &#39;", url: "https://example.com/1", content: "x".repeat(5_000) },
      { title: "no web", url: "javascript:alert(1)", content: "" },
      { title: null, url: "https://example.com/3" },
    ];
    answer("/search", 200, { results: [...odd, ...Array.from({ length: 50 }, () => odd[0])] });
    const { text } = await search(searxng(), { query: "x", count: 3 });
    expect(text).toMatch(
      /^1\. A & B &constructor; '\n {3}https:\/\/example\.com\/1\n {3}x{400}…\n\n2\. https:\/\/example\.com\/3\n/,
    );
    expect(text).not.toContain("javascript");
    expect(text.match(/^\d\. /gm)).toHaveLength(3);
  });

  test("may be fetched in the same conversation, however long their addresses are", async () => {
    const long = `${site.origin}/page?q=${"some+words+".repeat(10)}`;
    site.on("/page", "<p>Found it</p>");
    answer("/search", 200, { results: [{ title: "x", url: long }] });
    const config = { allow: [`127.0.0.1:${site.port}`], search: searxng() };
    const fetchIt = async (conversationId: string) =>
      textOf(await web.execute("web_fetch", { url: long }, place.context("web", { config, conversationId })));
    expect(await fetchIt("local:dm:cat")).toContain("web_fetch_any");
    await web.execute("web_search", { query: "x" }, place.context("web", { config, conversationId: "local:dm:cat" }));
    expect(await fetchIt("local:dm:cat")).toContain("Found it");
    expect(await fetchIt("local:dm:dan")).toContain("web_fetch_any");
  });

  test("never show the key, wherever the provider puts it", async () => {
    answer("/search", 200, {
      results: [{ title: "your key is top-secret-key", url: "https://example.com/top-secret-key" }],
    });
    const { text } = await search({ provider: "tavily", url: site.origin, apiKey: "top-secret-key" });
    expect(text).not.toContain("top-secret-key");
    answer("/search", 401, "bad key top-secret-key");
    expect((await search({ provider: "tavily", url: site.origin, apiKey: "top-secret-key" })).text).not.toContain(
      "top-secret-key",
    );
  });
});

describe("a failure", () => {
  const searxng = () => ({ provider: "searxng", url: site.origin });

  test.each([
    [429, { "retry-after": "3" }, /rate limit/, 3_000],
    [500, {}, /failed with status 500/, undefined],
    [503, {}, /failed with status 503/, undefined],
  ])("%i is tried again", async (status, headers, message, retryAfterMs) => {
    answer("/search", status, "no", headers);
    await expect(search(searxng())).rejects.toMatchObject({
      isRetryable: true,
      retryAfterMs,
      message: expect.stringMatching(message),
    });
  });

  test.each([
    [403, /status 403.*formats.*settings\.yml/],
    [401, /status 401/],
    [400, /status 400/],
    [302, /redirects.*search\.url/],
  ])("%i is an answer that says what to do", async (status, message) => {
    answer("/search", status, "no", { location: "https://example.com/" });
    expect((await search(searxng())).text).toMatch(message);
  });

  test("of what is configured or answered is said", async () => {
    expect((await search({ provider: "searxng" })).text).toContain("skills.settings.web.search.url");
    expect((await search({ provider: "brave" })).text).toContain("skills.settings.web.search.apiKey");
    answer("/search", 200, "<html>");
    expect((await search(searxng())).text).toContain("not JSON");
    answer("/search", 200, { hits: [] });
    expect((await search(searxng())).text).toContain("without a list of results");
    answer("/search", 200, `{"results": "${"x".repeat(3_000_000)}"}`);
    expect((await search(searxng())).text).toContain("not JSON");
    expect((await search(searxng(), { query: "   " })).text).toContain("is empty");
  });

  test("to reach it is tried again, and a stop is no failure", async () => {
    await expect(search({ provider: "searxng", url: "http://127.0.0.1:1" })).rejects.toMatchObject({
      isRetryable: true,
    });
    const controller = new AbortController();
    site.on("/search", () => controller.abort(new Error("stopped")));
    await expect(search(searxng(), { query: "x" }, controller.signal)).rejects.toThrow("stopped");
  });
});
