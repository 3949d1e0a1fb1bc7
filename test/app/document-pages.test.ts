import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readDocumentPages } from "../../src/app/document-pages.ts";
import { pdf } from "../plugin-sdk/documents/files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remora-pages-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(content: Uint8Array | string) {
  const path = join(folder, "a.pdf");
  writeFileSync(path, content);
  return await readDocumentPages(path, new AbortController().signal);
}

test("a document is read page by page, whatever its pages say about their number", async () => {
  expect(await read(pdf([["only one"]]))).toEqual({ pages: ["only one"] });
  const pages = Array.from({ length: 120 }, (_, index) => [`this is page ${index + 1}`, "[page 7]"]);
  const { pages: texts, problem } = await read(pdf(pages));
  expect(problem).toBeUndefined();
  expect(texts).toHaveLength(120);
  for (const index of [0, 49, 50, 119]) expect(texts[index]).toContain(`this is page ${index + 1}`);
});

test("a long document is read in parts, without gaps", async () => {
  const long = Array.from({ length: 60 }, (_, page) =>
    Array.from({ length: 30 }, (_, line) => `${page + 1}.${line} ${"x".repeat(300)}`),
  );
  const { pages } = await read(pdf(long));
  expect(pages.map((page) => page.split("\n").length)).toEqual(long.map((lines) => lines.length));
  expect(pages[59]?.startsWith("60.0 ")).toBe(true);
});

test("a document without text, and a damaged one, have a problem and no pages", async () => {
  expect(await read(pdf([[], []]))).toEqual({ pages: [], problem: expect.stringContaining("probably scanned") });
  expect(await read("%PDF-1.7\nnothing else")).toEqual({ pages: [], problem: expect.stringMatching(/damaged/) });
});
