/** Only the process that scales pictures may load native code, and it may nothing else. */
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPages } from "../../../src/plugin-sdk/documents/read-document.ts";
import { scalePicture } from "../../../src/plugin-sdk/documents/scale-picture.ts";
import { runIsolatedProcess } from "../../../src/plugin-sdk/isolated-process.ts";

let folder: string;
let module: URL;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-addons-"));
  const entry = pathToFileURL(join(import.meta.dirname, "../../../src/plugin-sdk/isolated-entry.ts"));
  const sharp = import.meta.resolve("sharp");
  const code = `
    import { answerOnce } from ${JSON.stringify(entry.href)};
    import { readFileSync, writeFileSync } from "node:fs";
    import { spawnSync } from "node:child_process";
    const works = {
      load: async () => (await import(${JSON.stringify(sharp)})).default.versions.vips,
      read: () => readFileSync("/etc/hostname", "utf8"),
      write: () => writeFileSync(${JSON.stringify(join(folder, "made"))}, "x"),
      spawn: () => { const { error } = spawnSync("true"); if (error) throw error; return "ran"; },
    };
    answerOnce((work) => works[work]());
  `;
  await writeFile(join(folder, "works.mjs"), code);
  module = pathToFileURL(join(folder, "works.mjs"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (request: string, allowsAddons?: boolean) =>
  runIsolatedProcess(
    { module, request, timeoutMs: 20_000, megabytes: 300, ...(allowsAddons !== undefined && { allowsAddons }) },
    new AbortController().signal,
  );

test("native code is loaded only where it is allowed", async () => {
  expect(await run("load")).toMatchObject({ type: "failed", why: "error" });
  expect(await run("load", true)).toMatchObject({ type: "answer", answer: expect.any(String) });
});

test.each(["read", "write", "spawn"])("JavaScript that may load native code still may not %s", async (work) => {
  expect(await run(work, true)).toMatchObject({ type: "failed", message: expect.stringContaining("restricted") });
});

test("however many files tools read at a time, two processes do the work", async () => {
  const never = new AbortController().signal;
  await writeFile(join(folder, "a.pdf"), "%PDF-1.4");
  await using file = await open(join(folder, "a.pdf"));
  const range = { firstPage: 1, lastPage: 1, firstLine: 1, lines: 1 };
  const picture = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  const all = Promise.all([
    ...Array.from({ length: 4 }, () => readPages({ descriptor: file.fd, name: "a.pdf" }, range, never)),
    ...Array.from({ length: 4 }, () => scalePicture(picture, never)),
  ]);
  const running = () => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, running());
  }, 5);
  expect(new Set((await all).map(({ type }) => type))).toEqual(new Set(["problem"]));
  clearInterval(watch);
  // A process that has answered may still be ending.
  expect(most).toBeLessThan(6);
});

test("Remora's own process never loads the libraries that read documents", async () => {
  const root = join(import.meta.dirname, "../../..");
  const urls = ["src/app/app.ts", "src/plugin-sdk/documents/file-inspector.ts", "skills/filesystem/plugin.ts"];
  const script = `
    import { registerHooks } from "node:module";
    const names = new Set();
    registerHooks({ resolve: (name, context, next) => (names.add(name), next(name, context)) });
    for (const url of ${JSON.stringify(urls.map((url) => pathToFileURL(join(root, url)).href))}) await import(url);
    console.log(JSON.stringify([...names]));
  `;
  const path = join(folder, "names.mjs");
  await writeFile(path, script);
  const { stdout } = await promisify(execFile)(process.execPath, [path], { maxBuffer: 1024 * 1024 });
  const names = JSON.parse(stdout) as string[];
  expect(names).toContain("p-queue");
  expect(names.filter((name) => /^(?:sharp|unpdf|fflate|csv-parse)/.test(name))).toEqual([]);
});
