import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MemoryDesk } from "../../src/memory/memory-desk.ts";
import { ann, createMemoryFixture, type MemoryFixture, noon, secret } from "./fixture.ts";

let fixture: MemoryFixture;
let desk: MemoryDesk;

beforeEach(() => {
  fixture = createMemoryFixture();
  desk = fixture.memory.desk;
});
afterEach(() => fixture.remove());

async function saveEpisode(turnId: string, userText: string): Promise<void> {
  await fixture.memory.saveEpisode({
    ...{ turnId, scope: "channel:c1", conversationId: "c1", at: noon, users: [ann], userText },
    ...{ tools: [], response: "Yes.", origins: [], outcome: "done" },
  });
}

const dayFile = "brain/hippocampus/episodes/channel:c1/2026-11-21.md";
const entriesOf = async (path: string) => (await desk.read(path))?.entries ?? [];
/** The search also finds similar words, so only texts with exactly this word count. */
const search = async (word: string) =>
  (await fixture.memory.search({ query: word, scopes: ["channel:c1"], limit: 5 })).filter(({ text }) =>
    text.includes(word),
  );

describe("episodes", () => {
  beforeEach(async () => {
    await saveEpisode("turn-1", "the launch is on Friday");
    await saveEpisode("turn-2", "lunch is at noon");
  });

  test("are listed by scope and file, and read without hidden markers", async () => {
    expect(desk.scopes()).toEqual([{ scope: "channel:c1", files: { knowledge: 0, episode: 1, feedback: 0 } }]);
    expect(desk.files("channel:c1")).toEqual([
      { path: dayFile, scope: "channel:c1", kind: "episode", title: "2026-11-21" },
    ]);
    const [first, second] = await entriesOf(dayFile);
    expect(first?.text).toContain("## 12:00 — the launch is on Friday\n");
    expect(first?.text).not.toContain("<!--");
    expect(second?.text).toContain("lunch is at noon");
  });

  test("a correction changes one entry, keeps whose it is, and is found by the search", async () => {
    const [first] = await entriesOf(dayFile);
    const text = first?.text.replaceAll("Friday", "Monday") ?? "";
    expect(await desk.correct(dayFile, first?.hash ?? "", text)).toEqual({ type: "done", scope: "channel:c1" });
    const file = fixture.read(dayFile);
    expect(file).toContain("<!-- turn=turn%2D1 ");
    expect(file).toContain("the launch is on Monday");
    expect(file).toContain("lunch is at noon");
    expect(file).not.toContain("Friday");
    await expect.poll(() => search("Monday")).toHaveLength(1);
    expect(await search("Friday")).toEqual([]);
    expect(await entriesOf(dayFile)).toHaveLength(2);
  });

  test("a deleted entry is neither in the file nor found, and the others stay", async () => {
    expect(await search("Friday")).toHaveLength(1);
    const [first] = await entriesOf(dayFile);
    expect(await desk.remove(dayFile, first?.hash ?? "")).toMatchObject({ type: "done" });
    expect(fixture.read(dayFile)).not.toContain("Friday");
    expect(await search("Friday")).toEqual([]);
    expect(await search("lunch")).toHaveLength(1);
  });

  test("of two operators who change the same entry, the second is told; nothing is lost or deleted twice", async () => {
    const [first] = await entriesOf(dayFile);
    const hash = first?.hash ?? "";
    const [one, other] = await Promise.all([
      desk.correct(dayFile, hash, `${first?.text}\nOne.`),
      desk.correct(dayFile, hash, `${first?.text}\nOther.`),
    ]);
    expect([one.type, other.type].sort()).toEqual(["done", "gone"]);
    expect(await desk.remove(dayFile, hash)).toEqual({ type: "gone" });
    expect(await entriesOf(dayFile)).toHaveLength(2);
  });

  test.each([
    ["without its heading", "no heading", /must stay a heading/],
    ["with a second entry", "## a\n\n## b", /begins an entry/],
    ["with a forged marker", "## a\n\n<!-- turn=x at=y outcome=done users=U9 from= -->", /turn=/],
  ])("a text %s is refused, and nothing changes", async (_name, text, reason) => {
    const before = fixture.read(dayFile);
    const [first] = await entriesOf(dayFile);
    expect(await desk.correct(dayFile, first?.hash ?? "", text)).toMatchObject({
      type: "refused",
      reason: expect.stringMatching(reason),
    });
    expect(fixture.read(dayFile)).toBe(before);
  });

  test("secrets are removed from a correction", async () => {
    const [first] = await entriesOf(dayFile);
    await desk.correct(dayFile, first?.hash ?? "", `${first?.text}\n${secret}`);
    expect(fixture.read(dayFile)).not.toContain(secret);
  });
});

test("a note is corrected with its origins kept, and deleted with its file", async () => {
  const origins = [{ kind: "web" as const, name: "example.com" }];
  await fixture.memory.knowledge.write("channel:c1", "Tea", "# Tea\n\nGreen.", origins);
  const [file] = desk.files("channel:c1");
  const path = file?.path ?? "";
  const [entry] = await entriesOf(path);
  expect(entry?.text).not.toContain("<!--");
  expect(await desk.correct(path, entry?.hash ?? "", "# Tea\n\nBlack.")).toMatchObject({ type: "done" });
  expect(await fixture.memory.knowledge.readMarked("channel:c1", "Tea")).toMatchObject({ origins });
  expect((await fixture.memory.knowledge.read("channel:c1", "Tea"))?.trim()).toMatch(/^# Tea\n+Black\.$/);
  const [corrected] = await entriesOf(path);
  expect(await desk.remove(path, corrected?.hash ?? "")).toMatchObject({ type: "done" });
  expect(existsSync(join(fixture.workspace, path))).toBe(false);
  expect(await desk.read(path)).toBeUndefined();
});

test("decisions can be deleted one by one, and not corrected", async () => {
  const decision = { turnId: "t", scope: "channel:c1" as const, at: noon, tool: "shell_exec", outcome: "approved" };
  for (const summary of ["one", "two"]) await fixture.memory.recordFeedback({ ...decision, id: summary, summary });
  const [file] = desk.files("channel:c1");
  const path = file?.path ?? "";
  const [first, second] = await entriesOf(path);
  expect([first?.canCorrect, first?.text, second?.text]).toEqual([
    false,
    expect.stringContaining("`one`"),
    expect.stringContaining("`two`"),
  ]);
  expect(await desk.correct(path, first?.hash ?? "", "- other")).toMatchObject({ type: "refused" });
  expect(await desk.remove(path, first?.hash ?? "")).toMatchObject({ type: "done" });
  expect((await entriesOf(path)).map(({ text }) => text)).toEqual([second?.text]);
});

test("only files of memory can be read or changed, whatever the path says", async () => {
  await saveEpisode("turn-1", "hello");
  fixture.write("secret.md", "# secret");
  for (const path of [
    "secret.md",
    `brain/hippocampus/episodes/channel:c1/../../../../secret.md`,
    join(fixture.workspace, dayFile),
    `./${dayFile}`,
    `${dayFile}\0`,
    "",
  ]) {
    expect(await desk.read(path)).toBeUndefined();
    expect(await desk.remove(path, "x")).toEqual({ type: "gone" });
  }
  expect(fixture.read("secret.md")).toBe("# secret");
});
