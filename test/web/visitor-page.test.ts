/** What a browser without the token gets, and what a program gets. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LocalPage, openLocalPage } from "../platforms/local/local-page.ts";

let page: LocalPage;
beforeEach(async () => {
  page = await openLocalPage();
});
afterEach(() => page.close());

const accept = "text/html,application/xhtml+xml,*/*;q=0.8";

test.each([
  ["/", 401, "This browser has not been here with the link yet."],
  ["/dashboard", 401, "This browser has not been here with the link yet."],
  ["/?token=wrong", 403, "The token in this link, or the one that this browser remembers, is not valid here."],
])("a browser at %s gets a page with status %i", async (path, status, reason) => {
  const response = await fetch(`${page.url}${path}`, { headers: { accept } });
  const html = await response.text();
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toContain("text/html");
  expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
  expect(html).toContain(reason);
  expect(html).toContain("ends in <code>?token=…</code>");
  expect(html).not.toMatch(/<script|general|Ann|wrong/);
});

test("every address looks the same, so nothing tells which exist", async () => {
  const bodies = ["/", "/nothing", "/local/api/state"].map(async (path) =>
    (await fetch(`${page.url}${path}`, { headers: { accept } })).text(),
  );
  expect(new Set(await Promise.all(bodies)).size).toBe(1);
});

test("a program gets one line of text", async () => {
  const response = await fetch(`${page.url}/local/api/state`, { headers: { accept: "application/json" } });
  expect(response.status).toBe(401);
  expect(response.headers.get("content-type")).toContain("text/plain");
  expect(await response.text()).toMatch(/^This page needs a token\./);
});
