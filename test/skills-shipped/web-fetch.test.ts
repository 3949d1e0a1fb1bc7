/** web_fetch against a site on loopback, with a look-up of names that the tests answer. */
import { createServer } from "node:net";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createPageReader } from "../../skills/web/read-page.ts";
import { createWeb } from "../../skills/web/web.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import type { Plugin } from "../../src/ports/plugin.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";
import { isWhole } from "../faults/share.ts";
import { isOk, makePlace, type TestPlace, textOf } from "./place.ts";

let site: WebSite;
let place: TestPlace;
let web: Plugin;
/** Answers of the look-up, the last one again and again. */
let answers: string[][];
let lookedUp: string[];
let now: number;
beforeEach(async () => {
  site = await startWebSite();
  place = await makePlace();
  answers = [["127.0.0.1"]];
  lookedUp = [];
  now = Date.parse("2026-11-21T12:00:00Z");
  web = createWeb({
    resolve: async (host) => {
      lookedUp.push(host);
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    },
    now: () => now,
  });
});
afterEach(async () => {
  await site.close();
  await place.remove();
});

interface Call {
  config?: JsonObject;
  signal?: AbortSignal;
  turnId?: string;
  conversationId?: string;
  tool?: string;
}

async function fetchPage(path: string, input: JsonObject = {}, { tool = "web_fetch", turnId, ...at }: Call = {}) {
  const url = path.startsWith("/") ? `${site.origin}${path}` : path;
  const config = { allow: [`127.0.0.1:${site.port}`], ...at.config };
  const context = place.context("web", { ...at, config });
  const result = await web.execute(
    tool,
    { url, ...input },
    { ...context, ...(turnId === undefined ? {} : { turnId }) },
  );
  return { isOk: isOk(result), text: textOf(result) };
}

const article = (body: string) => `<!doctype html><html><head><title>A title</title></head><body>${body}</body></html>`;
const longText = (words: number) => Array.from({ length: words }, (_, index) => `word${index}`).join(" ");

describe("a page", () => {
  test("comes as Markdown with its title, author, and links in full", async () => {
    const text = `<p>${longText(200)} <a href="/other?x=1">another page</a>.</p>`;
    const meta = '<meta name="author" content="Ann Example"><meta property="og:site_name" content="The Site">';
    site.on(
      "/a",
      `<!doctype html><html><head><title>A title</title>${meta}</head><body><nav><a href="/">Home</a></nav><article>${text.repeat(3)}</article></body></html>`,
    );
    const { isOk: ok, text: got } = await fetchPage("/a");
    expect(ok).toBe(true);
    expect(got).toMatch(new RegExp(`^# A title\n<${site.origin}/a>\nby Ann Example, The Site\n\nword0 word1`));
    expect(got).toContain(`[another page](${site.origin}/other?x=1)`);
    expect(got).not.toContain("Home");
    expect((await fetchPage("/a", { whole: true })).text).toContain(`[Home](${site.origin}/)`);
    expect((await fetchPage("/a", { raw: true })).text).toContain("<nav><a href=");
  });

  test("is given in parts that fit together", async () => {
    site.on("/long", article(`<article><p>${longText(5_000)}</p></article>`));
    const first = await fetchPage("/long", { max_characters: 1_000 });
    expect(first.text).toContain("(characters 0 to 1,000 of 43,889; continue with offset 1000)");
    const second = await fetchPage("/long", { max_characters: 1_000, offset: 1_000 });
    const bodyOf = (text: string) => text.slice(text.indexOf("\n\n") + 2);
    expect(longText(5_000).startsWith(bodyOf(first.text) + bodyOf(second.text))).toBe(true);
    expect(await fetchPage("/long", { offset: 99_999 })).toMatchObject({ isOk: false });
    expect((await fetchPage("/long", { offset: 99_999 })).text).toContain("has 43,889 characters");
    expect(site.requests).toHaveLength(1);
    now += 5 * 60_000;
    await fetchPage("/long", { offset: 1_000 });
    expect(site.requests).toHaveLength(2);
  });

  test("kept for one conversation is fetched again for another", async () => {
    site.on("/a", article("<p>Hello</p>"));
    await fetchPage("/a");
    await fetchPage("/a", {}, { conversationId: "local:dm:bob" });
    expect(site.requests).toHaveLength(2);
  });

  test("without text, main text, or sense says so", async () => {
    site.on("/empty", "<html><body><div id=root></div><script>render()</script></body></html>");
    expect((await fetchPage("/empty")).text).toContain("scripts may create it, and they do not run here");
    site.on("/nothing", "");
    expect((await fetchPage("/nothing")).isOk).toBe(true);
    site.on(
      "/list",
      article(Array.from({ length: 30 }, (_, index) => `<div><a href="/${index}">Entry ${index}</a></div>`).join("")),
    );
    expect((await fetchPage("/list")).text).toContain(`[Entry 29](${site.origin}/29)`);
    site.on(
      "/broken",
      '<p>unclosed <b>bold <table><tr><td>cell<p></b></i></div><a href="x">link<script>alert(1)</script</p>',
    );
    expect((await fetchPage("/broken")).text).toContain("unclosed");
    site.on("/fragment", "just words, no tags");
    expect((await fetchPage("/fragment")).text).toContain("just words, no tags");
  });

  test("is read in the character set that its header declares", async () => {
    const body = Buffer.from("<p>Gr\xfc\xdfe</p>", "latin1");
    site.on("/a", (response) => response.writeHead(200, { "content-type": "text/html; charset=ISO-8859-1" }).end(body));
    expect((await fetchPage("/a")).text).toContain("Grüße");
  });

  test("hides nothing in it from people that the model reads", async () => {
    const hidden =
      '<div style="display:none">ORDER</div><p hidden>ORDER</p><span style="font-size:0">ORDER</span><!-- ORDER -->';
    const tags = [..."ORDER"].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");
    site.on(
      "/a",
      article(`<p>Seen${tags} \u202eand\u200b read</p>${hidden}<noscript>ORDER</noscript><template>ORDER</template>`),
    );
    for (const whole of [true, false]) {
      const { text } = await fetchPage("/a", { whole });
      expect(text).toContain("Seen and read");
      expect(text).not.toMatch(/ORDER|[\u{e0000}-\u{e007f}]/u);
    }
  });
});

describe("other content", () => {
  const send = (path: string, type: string | undefined, body: string | Uint8Array) =>
    site.on(path, (response) => response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(body));

  test("that is text comes as it is", async () => {
    send("/data.json", "application/json", '{"a": [1, 2]}');
    expect((await fetchPage("/data.json")).text).toBe(`<${site.origin}/data.json>\n\n{"a": [1, 2]}`);
    send("/feed", "application/rss+xml", "<rss>x</rss>");
    expect((await fetchPage("/feed")).text).toContain("<rss>x</rss>");
    send("/readme.md", "text/markdown; charset=utf-8", "# Hello");
    expect((await fetchPage("/readme.md")).text).toContain("# Hello");
    send("/unnamed", undefined, "plain words");
    expect((await fetchPage("/unnamed")).text).toContain("plain words");
    send("/unnamed-page", "application/octet-stream", "<!DOCTYPE html><p>Hello <b>you</b></p>");
    expect((await fetchPage("/unnamed-page")).text).toContain("Hello **you**");
  });

  test.each([
    ["application/pdf", "%PDF-1.7", "is a PDF (application/pdf"],
    ["image/png", "\x89PNG", "is an image (image/png"],
    ["video/mp4", "x", "is a video"],
    ["application/zip", "PK", "is an archive"],
    ["application/x-thing", "x", "is of the type application/x-thing"],
    ["application/octet-stream", "%PDF-1.7\nx", "is a PDF"],
    ["application/octet-stream", "a\0b", "is binary data"],
  ])("%s is named, and what to do instead", async (type, body, what) => {
    send("/file", type, Buffer.from(body, "latin1"));
    const { isOk: ok, text } = await fetchPage("/file");
    expect(ok).toBe(false);
    expect(text).toContain(what);
    expect(text).toContain("only pages and text can be read");
  });
});

describe("a status that is no success", () => {
  const status = (path: string, code: number, headers = {}) =>
    site.on(path, (response) => response.writeHead(code, { "content-type": "text/plain", ...headers }).end("Because."));

  test.each([
    [404, "the page does not exist"],
    [403, "may exclude programs"],
    [401, "requires a login"],
    [418, "status 418."],
    [501, "the server failed"],
    [304, "status 304"],
  ])("%i is an answer", async (code, text) => {
    status("/a", code);
    const got = await fetchPage("/a");
    expect(got.isOk).toBe(false);
    expect(got.text).toContain(text);
    if (code !== 304) expect(got.text).toContain("Because.");
  });

  test("429 and failures of the server are tried again, when they say so", async () => {
    status("/busy", 429, { "retry-after": "7" });
    await expect(fetchPage("/busy")).rejects.toMatchObject({ isRetryable: true, retryAfterMs: 7_000 });
    status("/down", 503);
    await expect(fetchPage("/down")).rejects.toMatchObject({ isRetryable: true, retryAfterMs: undefined });
  });
});

describe("the connection", () => {
  test("goes to the address that was checked, and carries the name alone", async () => {
    site.on("/a", article("<p>Hello</p>"));
    const config = { allow: [`127.0.0.1:${site.port}`] };
    const { text } = await fetchPage(`http://site.example:${site.port}/a`, {}, { config });
    expect(text).toContain("Hello");
    expect(lookedUp).toEqual(["site.example"]);
    const headers = site.requests[0]?.headers;
    expect(headers?.host).toBe(`site.example:${site.port}`);
    expect(Object.keys(headers ?? {}).sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "host",
      "user-agent",
    ]);
  });

  test("is made for the name in TLS as well", async () => {
    const hello: Buffer[] = [];
    const server = createServer((socket) => socket.once("data", (chunk) => hello.push(chunk) && socket.destroy()));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const config = { allow: [`127.0.0.1:${port}`] };
    await expect(fetchPage(`https://site.example:${port}/`, {}, { config })).rejects.toThrow("can't be reached");
    expect(Buffer.concat(hello).toString("latin1")).toContain("site.example");
  });

  test("is not led elsewhere by a name that is answered differently the second time", async () => {
    answers = [["127.0.0.1"], ["10.0.0.5"]];
    site.on("/a", article("<p>Hello</p>"));
    const { text } = await fetchPage(`http://rebind.example:${site.port}/a`);
    expect(text).toContain("Hello");
    expect(lookedUp).toHaveLength(1);
    site.redirect("/b", "/a");
    answers = [["127.0.0.1"], ["10.0.0.5"]];
    const config = { ports: [site.port] };
    const second = await fetchPage(`http://rebind.example:${site.port}/b`, {}, { config });
    expect(second).toMatchObject({ isOk: false });
    expect(second.text).toContain("not a public address");
    expect(site.requests.map(({ path }) => path)).toEqual(["/a", "/b"]);
  });

  test("tries the other checked addresses of a name", async () => {
    answers = [["::1", "127.0.0.1"]];
    site.on("/a", article("<p>Hello</p>"));
    const config = { allow: [`127.0.0.1:${site.port}`, `[::1]:${site.port}`] };
    expect((await fetchPage(`http://both.example:${site.port}/a`, {}, { config })).text).toContain("Hello");
  });

  test("that can't be made is said", async () => {
    const { port } = site;
    await site.close();
    expect((await fetchPage(`http://127.0.0.1:${port}/`)).text).toMatch(/can't be reached \(.*ECONNREFUSED/);
  });

  test("uses no proxy of the environment", async () => {
    vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:1");
    vi.stubEnv("http_proxy", "http://127.0.0.1:1");
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    onTestFinished(() => void vi.unstubAllEnvs());
    site.on("/a", article("<p>Hello</p>"));
    expect((await fetchPage("/a")).text).toContain("Hello");
  });
});

describe("redirects", () => {
  test("are followed three times, and the end is named", async () => {
    for (const [from, to] of [
      ["/1", "/2"],
      ["/2", "/3"],
      ["/3", "/4"],
      ["/4", "/5"],
    ])
      site.redirect(from ?? "", to ?? "", 301);
    site.on("/5", article("<p>The end</p>"));
    const { text } = await fetchPage("/2");
    expect(text).toContain(`<${site.origin}/5 (redirected from ${site.origin}/2)>`);
    expect((await fetchPage("/1")).text).toContain("redirects more than 3 times");
  });

  test("in a circle end", async () => {
    site.redirect("/a", "/b");
    site.redirect("/b", "/a");
    expect((await fetchPage("/a")).text).toContain("redirects in a circle");
    site.redirect("/self", "/self");
    expect((await fetchPage("/self")).text).toContain("redirects in a circle");
    expect(site.requests).toHaveLength(3);
  });

  test.each([
    ["http://169.254.169.254/latest/meta-data/", "not a public address"],
    ["http://10.0.0.1/", "not a public address"],
    ["http://[::1]/", "not a public address"],
    ["//2130706433/", "not a public address"],
    ["http://127.0.0.1:1/", "port 1"],
    ["file:///etc/passwd", "only http and https"],
    ["http://user:pass@example.com/", "user name or password"],
    ["http://", "an invalid address"],
  ])("to %s are refused", async (location, why) => {
    site.redirect("/a", location);
    const { isOk: ok, text } = await fetchPage("/a");
    expect(ok).toBe(false);
    expect(text).toContain(why);
  });

  test("carry no cookies along", async () => {
    site.on("/a", (response) => response.writeHead(302, { location: "/b", "set-cookie": "id=1" }).end());
    site.on("/b", article("<p>Hello</p>"));
    await fetchPage("/a");
    expect(site.requests[1]?.headers.cookie).toBeUndefined();
  });
});

describe("a body", () => {
  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ])("in %s is read", async (encoding, compress) => {
    const headers = { "content-type": "text/plain", "content-encoding": encoding };
    site.on("/a", (response) => response.writeHead(200, headers).end(compress(Buffer.from("packed words"))));
    expect((await fetchPage("/a")).text).toContain("packed words");
  });

  test.each([
    ["gzip", gzipSync],
    ["br", (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } })],
    ["zstd", zstdCompressSync],
  ])("that explodes in %s is cut at 2 MB", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(100 * 1024 * 1024, "bomb "));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    const headers = { "content-type": "text/plain", "content-encoding": encoding };
    site.on("/bomb", (response) => response.writeHead(200, headers).end(bomb));
    const { text } = await fetchPage("/bomb");
    expect(text).toContain("only the first 2.0 MiB were read");
    expect(text).toContain("of 2,097,152; continue");
  });

  test("that never ends is cut at 2 MB", async () => {
    site.on("/endless", (response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", write);
      write();
    });
    expect((await fetchPage("/endless")).text).toContain("only the first 2.0 MiB");
  });

  test("that comes too slowly ends at the deadline, redirects included", async () => {
    let isOpen = true;
    site.on("/slow", (response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => {
        clearInterval(timer);
        isOpen = false;
      });
    });
    site.redirect("/to-slow", "/slow");
    const { isOk: ok, text } = await fetchPage("/to-slow", {}, { config: { seconds: 0.4 } });
    expect(ok).toBe(false);
    expect(text).toContain("did not finish within 0.4 s");
    await vi.waitFor(() => expect(isOpen).toBe(false));
  });

  test("and headers that never come end there too", async () => {
    site.on("/silent", () => {});
    expect((await fetchPage("/silent", {}, { config: { seconds: 0.3 } })).text).toContain("within 0.3 s");
  });

  test("ends when the person says stop", async () => {
    const controller = new AbortController();
    site.on("/silent", () => controller.abort(new Error("stopped")));
    await expect(fetchPage("/silent", {}, { signal: controller.signal })).rejects.toThrow("stopped");
  });

  test("with huge headers, a broken packing or an unknown one is refused", async () => {
    site.on("/headers", (response) => response.writeHead(200, { "x-large": "x".repeat(100_000) }).end());
    expect((await fetchPage("/headers")).text).toContain("headers are too long");
    const packed = (path: string, encoding: string, body: string | Uint8Array) =>
      site.on(path, (response) =>
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": encoding }).end(body),
      );
    packed("/broken", "gzip", "no gzip at all");
    expect((await fetchPage("/broken")).text).toContain("broke off during the download");
    packed("/unknown", "gzip, gzip", gzipSync(gzipSync("x")));
    expect((await fetchPage("/unknown")).text).toContain("was not requested");
    packed("/half", "gzip", gzipSync("some words ".repeat(50_000)).subarray(0, 500));
    expect((await fetchPage("/half")).text).toContain("some words");
  });

  test("that is cut off on the way is tried again", async () => {
    site.on("/cut", (response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-length": "1000" });
      response.write("half", () => response.destroy());
    });
    await expect(fetchPage("/cut")).rejects.toMatchObject({ isRetryable: true });
  });

  test("of a type that nothing is done with is not fetched", async () => {
    let sent = 0;
    site.on("/film", (response) => {
      response.writeHead(200, { "content-type": "video/mp4", "content-length": "5000000000" });
      const timer = setInterval(() => response.write("x".repeat(1_000), () => (sent += 1_000)), 1);
      response.on("close", () => clearInterval(timer));
    });
    expect((await fetchPage("/film")).text).toContain("is a video (video/mp4), 4.7 GiB");
    expect(sent).toBeLessThan(1_000_000);
  });
});

describe("a page made to keep its reader busy", () => {
  test.each([
    ["nested very deep", "<div>".repeat(300_000)],
    ...(isWhole ? [["of the same unclosed element", "<b>".repeat(300_000)]] : []),
    ["of angle brackets", "<".repeat(2_000_000)],
    ["with a long attribute", `<p title="${"x".repeat(1_500_000)}`],
  ])("%s ends in time, and the process lives", async (_what, html) => {
    const reader = createPageReader({ timeoutMs: 2_500, megabytes: 200 });
    web = createWeb({ resolve: async () => ["127.0.0.1"], reader });
    site.on("/bomb", `<html><body>${html}words at the end</body></html>`);
    expect((await fetchPage("/bomb")).text).toContain(`<${site.origin}/bomb>`);
  });

  test("ends with the call when that is stopped", async () => {
    const controller = new AbortController();
    site.on("/bomb", (response) => {
      response.on("finish", () => setImmediate(() => controller.abort(new Error("stopped"))));
      response.writeHead(200, { "content-type": "text/html" }).end("<div>".repeat(300_000));
    });
    await expect(fetchPage("/bomb", {}, { signal: controller.signal })).rejects.toThrow("stopped");
  });
});

describe("what an address would tell its host", () => {
  const key = "q=".concat("who+has+told+you+this+and+what+else+did+they+say+about+it");

  test("is looked at first: one with much in it is not fetched, and the answer says how", async () => {
    for (const path of [
      `/?${key}`,
      "/x/4f3a9c1b2d8e7f60",
      `/${"a-word-".repeat(25)}`,
      "/?d=%FF%FE%00",
      "/9318472039184720",
    ]) {
      const { isOk: ok, text } = await fetchPage(path);
      expect([path, ok]).toEqual([path, false]);
      expect(text).toContain("use web_fetch_any");
    }
    expect(site.requests).toEqual([]);
    site.on("/", article("<p>Hello</p>"));
    expect((await fetchPage(`/?${key}`, {}, { tool: "web_fetch_any" })).text).toContain("Hello");
  });

  test("is nothing new where a page of the conversation has shown it, letter for letter", async () => {
    site.on("/list", article(`<nav><a href="/?${key}&amp;x=1#top">next</a></nav><p>Hello</p>`));
    site.on("/data", (response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(`{"next": "${site.origin}/?${key}&y=2"}`),
    );
    site.on("/", article("<p>There</p>"));
    expect((await fetchPage(`/?${key}&x=1`)).isOk).toBe(false);
    await fetchPage("/list");
    await fetchPage("/data");
    expect((await fetchPage(`/?${key}&x=1`)).text).toContain("There");
    expect((await fetchPage(`/?${key}&y=2`)).text).toContain("There");
    expect((await fetchPage(`/?${key}&x=2`)).isOk).toBe(false);
    expect((await fetchPage(`/?${key}&x=1`, {}, { conversationId: "local:dm:bob" })).isOk).toBe(false);
  });

  test("adds up: of addresses that nothing has shown only so many are taken in a turn", async () => {
    const fetched = async (index: number, turnId: string, tool = "web_fetch") =>
      (await fetchPage(`/p${index}`, {}, { turnId, tool })).text.includes("nothing here");
    for (let index = 0; index < 12; index += 1) expect(await fetched(index, "t1")).toBe(true);
    expect(await fetched(12, "t1")).toBe(false);
    expect(await fetched(3, "t1")).toBe(true);
    expect(await fetched(12, "t1", "web_fetch_any")).toBe(true);
    expect(await fetched(12, "t2")).toBe(true);
  });

  test("can't be spelled out by choosing among very many links", async () => {
    site.on("/many", article(Array.from({ length: 60 }, (_, index) => `<a href="/l${index}">${index}</a>`).join(" ")));
    const texts = [await fetchPage("/many")];
    for (let index = 0; index < 60; index += 1) texts.push(await fetchPage(`/l${index}`));
    expect(site.requests).toHaveLength(40);
    expect(texts.at(-1)?.text).toContain("has fetched 40 times");
  });
});
