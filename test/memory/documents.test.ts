/** The operator's documents in workspace/knowledge: found by section, followed when they change, never fatal. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ReadPages } from "../../src/memory/documents.ts";
import { createScopedMemory } from "../../src/memory/scoped.ts";
import type { Origin } from "../../src/ports/origin.ts";
import type { ToolScope } from "../../src/ports/tool.ts";
import { payerOf } from "../../src/ports/usage.ts";
import { turnRecord } from "../doubles/records.ts";
import { ann, createMemoryFixture, episode, type MemoryFixture } from "./fixture.ts";

let fixture: MemoryFixture;
let pages: Awaited<ReturnType<ReadPages>> = { pages: [] };
let readCount = 0;
const readPages: ReadPages = async () => {
  readCount += 1;
  return pages;
};

beforeEach(() => {
  readCount = 0;
  fixture = createMemoryFixture({ readPages });
});
afterEach(() => fixture.remove());

const write = (name: string, text: string | Uint8Array) => fixture.write(`knowledge/${name}`, text);
const refresh = () => fixture.memory.refreshDocuments();
async function find(query: string, memory = fixture.memory) {
  const hits = await memory.search({ query, scopes: ["channel:general", "shared"], limit: 10 });
  return hits.map(({ path, heading }) => `${path} § ${heading}`);
}

test("Markdown is found by section and text by file, in every conversation, without origins", async () => {
  write("handbook.md", "# Handbook\n\n## Holidays\n\nThe platypus day is free.\n\n## Travel\n\nTrains only.\n");
  write("team/wifi.txt", "The wifi password is on the wombat poster.");
  expect(await refresh()).toEqual({ count: 2, problems: [] });
  expect((await find("platypus"))[0]).toBe("knowledge/handbook.md § Holidays");
  expect(await find("wombat")).toEqual(["knowledge/team/wifi.txt § wifi.txt"]);
  const [hit] = await fixture.memory.search({ query: "trains", scopes: ["dm:U1", "shared"], limit: 5 });
  expect(hit).toMatchObject({ scope: "shared", heading: "Travel", origins: [] });
  expect(await fixture.memory.search({ query: "trains", scopes: ["dm:U1"], limit: 5 })).toEqual([]);
});

test("changed files are read again, removed files are dropped, and unchanged ones are not touched", async () => {
  write("plan.md", "## Launch\n\nThe okapi launch is in May.");
  write("other.md", "## Other\n\nThe numbat.");
  await refresh();
  write("plan.md", "## Launch\n\nThe okapi launch is in June.");
  utimesSync(join(fixture.workspace, "knowledge/plan.md"), 2_000_000_000, 2_000_000_000);
  rmSync(join(fixture.workspace, "knowledge/other.md"));
  expect(await refresh()).toEqual({ count: 1, problems: [] });
  expect(await find("numbat")).toEqual([]);
  const [hit] = await fixture.memory.search({ query: "okapi", scopes: ["shared"], limit: 5 });
  expect(hit?.text).toContain("June");
  // Another memory finds the index complete.
  expect(await find("okapi", fixture.reopen())).toEqual(["knowledge/plan.md § Launch"]);
});

test("an update of memory files, and forgetting, leave documents alone", async () => {
  write("plan.md", "## Launch\n\nThe okapi launch is in May.");
  await refresh();
  await fixture.memory.saveEpisode(episode({ userText: "okapi?" }));
  await fixture.memory.forget({ userId: ann.id });
  await fixture.memory.forget({ scope: "shared" });
  expect(await find("okapi")).toEqual(["knowledge/plan.md § Launch"]);
  expect(fixture.list("knowledge")).toEqual(["plan.md"]);
});

describe("files with pages", () => {
  test("are found by page, with the file as origin, and read once", async () => {
    pages = { pages: ["The lease", "", "The axolotl clause"] };
    write("lease.pdf", "%PDF-1.7");
    expect(await refresh()).toEqual({ count: 1, problems: [] });
    await refresh();
    expect(readCount).toBe(1);
    const [hit] = await fixture.memory.search({ query: "axolotl", scopes: ["shared"], limit: 5 });
    const origins: Origin[] = [{ kind: "file", name: "knowledge/lease.pdf" }];
    expect(hit).toMatchObject({ path: "knowledge/lease.pdf", heading: "page 3", origins });
  });

  test("that can't be read are reported once and read again after a change", async () => {
    pages = { pages: [], problem: "The file is damaged." };
    write("lease.pdf", "%PDF-1.7");
    const problems = [{ path: "knowledge/lease.pdf", problem: "The file is damaged." }];
    for (let round = 0; round < 3; round++) expect(await refresh()).toEqual({ count: 0, problems });
    expect(readCount).toBe(1);
    expect(fixture.warnings).toHaveLength(1);
    pages = { pages: ["The axolotl clause"] };
    write("lease.pdf", "%PDF-1.7 again");
    expect(await refresh()).toEqual({ count: 1, problems: [] });
    expect(await find("axolotl")).toEqual(["knowledge/lease.pdf § page 1"]);
  });
});

describe("bad files", () => {
  test("are named with the reason, once each, and the others are found", async () => {
    write("good.md", "The quokka.");
    write("picture.png", "png");
    write("binary.txt", Uint8Array.from([0, 1, 2]));
    write(".hidden.md", "The quokka hides.");
    write("huge.txt", "x".repeat(8 * 1024 * 1024 + 1));
    symlinkSync("/etc/passwd", join(fixture.workspace, "knowledge/link.txt"));
    const { count, problems } = await refresh();
    expect(count).toBe(1);
    expect(problems.map(({ path, problem }) => `${path}: ${problem}`).sort()).toEqual([
      "knowledge/binary.txt: it is not a text file",
      "knowledge/huge.txt: it has 8.0 MiB; the limit is 8.0 MiB",
      "knowledge/picture.png: it is not a Markdown, text or PDF file",
    ]);
    await refresh();
    expect(fixture.warnings).toHaveLength(3);
    expect(await find("quokka")).toEqual(["knowledge/good.md § good"]);
    expect(await find("root")).toEqual([]);
  });

  test.skipIf(process.getuid?.() === 0)("without permission are reported", async () => {
    write("secret.md", "The quokka.");
    chmodSync(join(fixture.workspace, "knowledge/secret.md"), 0);
    expect((await refresh()).problems).toEqual([
      { path: "knowledge/secret.md", problem: "it can't be read; check its permissions" },
    ]);
  });

  test("a missing folder, and a file in its place, are no documents", async () => {
    expect(await refresh()).toEqual({ count: 0, problems: [] });
    mkdirSync(fixture.workspace, { recursive: true });
    writeFileSync(join(fixture.workspace, "knowledge"), "a file");
    expect(await refresh()).toEqual({ count: 0, problems: [] });
  });
});

test("a long document does not take the places of conversations", async () => {
  const sections = Array.from(
    { length: 40 },
    (_, index) => `## Part ${index}\n\nThe capybara capybara capybara ${index}.`,
  );
  write("book.md", sections.join("\n\n"));
  await refresh();
  for (const [index, text] of ["capybara food", "capybara pool", "capybara name"].entries())
    await fixture.memory.saveEpisode(episode({ turnId: `t${index}`, userText: `We talked about the ${text}` }));
  const hits = await fixture.memory.search({ query: "capybara", scopes: ["channel:general", "shared"], limit: 6 });
  expect(hits.filter(({ path }) => path.startsWith("knowledge/"))).toHaveLength(3);
  expect(hits).toHaveLength(6);
});

test("recall names file and section as the source, and taints only with pages", async () => {
  pages = { pages: ["The axolotl clause"] };
  write("lease.pdf", "%PDF-1.7");
  write("handbook.md", "## Holidays\n\nThe platypus day is free.");
  await refresh();
  const heard: Origin[] = [];
  const nobody = async () => payerOf(turnRecord());
  const scope: ToolScope = {
    ...{ turnId: "t1", conversationId: "test:c1", scope: "channel:general", requester: ann },
    workingFolder: fixture.workspace,
  };
  const memory = createScopedMemory(fixture.memory, async () => false)(scope, nobody, (origins) =>
    heard.push(...origins),
  );
  expect(await memory.recall("platypus", 5)).toMatchObject([{ source: "knowledge/handbook.md § Holidays" }]);
  expect(heard).toEqual([]);
  expect(await memory.recall("axolotl", 5)).toMatchObject([{ source: "knowledge/lease.pdf § page 1" }]);
  expect(heard).toEqual([{ kind: "file", name: "knowledge/lease.pdf", via: "recalled memory" }]);
});
