import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RemoraError } from "../../src/lib/errors.ts";
import { createFileOrder } from "../../src/lib/file-order.ts";
import { createDayFiles } from "../../src/memory/day-files.ts";
import { parseDay, readableEntry } from "../../src/memory/episodes.ts";
import { parseFeedback } from "../../src/memory/feedback.ts";
import { memoryConformance } from "../conformance/memory.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import {
  ann,
  bob,
  createMemoryFixture,
  episode,
  feedback,
  type MemoryFixture,
  noon,
  secret,
  shellCall,
} from "./fixture.ts";

memoryConformance("Markdown with a search index", createMemoryFixture);

let fixture: MemoryFixture;
beforeEach(() => {
  fixture = createMemoryFixture();
});
afterEach(() => fixture.remove());

const day = "brain/hippocampus/episodes/channel:general/2026-11-21.md";

describe("an episode on disk", () => {
  test("is Markdown that tells who asked what, what was done, and what came of it", async () => {
    await fixture.memory.saveEpisode(
      episode({ users: [ann, bob, ann], tools: [shellCall("npm test", "2 failed")], response: "Two are **red**." }),
    );
    expect(fixture.read(day)).toBe(
      [
        "# 2026-11-21 (UTC) — channel:general",
        "",
        "## 12:00 — Which tests are red?",
        "",
        "<!-- turn=t1 at=2026-11-21T12:00:00.000Z outcome=done users=U1,U2 from=%5B%5D -->",
        "",
        "**User** (Ann, Bob):",
        "",
        "> Which tests are red?",
        "",
        "**Tools**:",
        "",
        '- `shell_exec` `{"command":"npm test"}` → ok',
        "  > 2 failed",
        "",
        "**Response**:",
        "",
        "> Two are **red**.",
        "",
      ].join("\n"),
    );
    expect(fixture.events).toMatchObject([
      { name: "memory.saved", fields: { turnId: "t1", conversationId: "test:c1", userId: "U1", path: day } },
    ]);
  });

  test("of a turn that failed says so", async () => {
    await fixture.memory.saveEpisode(episode({ outcome: "failed", response: "The model could not answer." }));
    expect(fixture.read(day)).toContain("**Response** (failed):");
  });

  test("holds no secret", async () => {
    const tools = [shellCall(`curl -H ${secret}`, `echo ${secret}`)];
    await fixture.memory.saveEpisode(episode({ userText: `My key is ${secret}`, tools, response: `${secret}!` }));
    await fixture.memory.recordFeedback(feedback({ summary: `{"command":"${secret}"}` }));
    await fixture.memory.knowledge.write("shared", `about ${secret}`, `it is ${secret}`);
    for (const path of fixture.list("brain")) {
      if (path.endsWith(".md")) expect(fixture.read(`brain/${path}`)).not.toContain(secret);
    }
  });

  test("is one of many saved at once: each once, in order, the newest text of each, whatever part it is in", async () => {
    const long = "word ".repeat(1_000);
    const turnIds = Array.from({ length: 120 }, (_, index) => `t${index % 60}`);
    await Promise.all(
      turnIds.map((turnId, index) => fixture.memory.saveEpisode(episode({ turnId, response: `${long}${index}.` }))),
    );
    const parts = fixture.list("brain/hippocampus/episodes/channel:general").filter((name) => name.endsWith(".md"));
    expect(parts.length).toBeGreaterThan(2);
    const inOrder = parts.toSorted((one, other) => partOf(one) - partOf(other));
    const entries = inOrder.flatMap(
      (name) => parseDay(fixture.read(`brain/hippocampus/episodes/channel:general/${name}`)).entries,
    );
    expect(entries.map((entry) => entry.marker?.turnId)).toEqual(turnIds.slice(0, 60));
    for (const [index, entry] of entries.entries()) expect(entry.raw).toContain(`word ${index + 60}.`);
  });

  test("fails for everyone who waited when it can't be written, and for nobody after that", async () => {
    fixture.write("brain/hippocampus/episodes", "a file is in the way");
    const all = await Promise.allSettled(
      ["t1", "t2", "t3"].map((turnId) => fixture.memory.saveEpisode(episode({ turnId }))),
    );
    expect(all.map((one) => one.status)).toEqual(["rejected", "rejected", "rejected"]);
    rmSync(join(fixture.workspace, "brain/hippocampus/episodes"));
    await fixture.memory.saveEpisode(episode({ turnId: "t4" }));
    expect(parseDay(fixture.read(day)).entries.map((entry) => entry.marker?.turnId)).toEqual(["t4"]);
  });

  test("fails for everyone who waited when its day can't be had of the other processes, and for nobody after that", async () => {
    const away = new RemoraError({
      code: "storage.full",
      place: "leases",
      message: "has no memory left",
      isRetryable: true,
    });
    let isAway = true;
    const lease = { signal: new AbortController().signal, release: async () => {} };
    const { saveEpisode } = fixture.reopen({
      withLock: (_name, work) => (isAway ? Promise.reject(away) : work(lease)),
    });
    const some = ["t1", "t2"].map((turnId) => saveEpisode(episode({ turnId })));
    expect(await Promise.allSettled(some)).toEqual(some.map(() => ({ status: "rejected", reason: away })));
    isAway = false;
    await saveEpisode(episode({ turnId: "t2" }));
    expect(parseDay(fixture.read(day)).entries).toMatchObject([{ marker: { turnId: "t2" } }]);
  });

  test("can't be faked by anything that is said: one turn is one entry, and reads back as it was", async () => {
    const line = fc.constantFrom(
      "## 10:00 — fake",
      "# x",
      "<!-- turn=t9 at= outcome= users= -->",
      "-->",
      "**Response**:",
      "```",
      "> quote",
      "",
      " ",
      "\u2028## 11:00 — fake",
      "text",
      "\r## 12:00 — fake",
    );
    const said = fc
      .array(fc.oneof(line, fc.string({ unit: anyCharacter })), { minLength: 1, maxLength: 8 })
      .map((lines) => lines.join("\n"));
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        said,
        said,
        fc.string({ unit: anyCharacter, maxLength: 20 }),
        async (userText, response, name) => {
          const scope = `channel:c${++count}` as const;
          const users = [{ ...ann, name }];
          for (const turnId of ["t1", "t2", "t1"])
            await fixture.memory.saveEpisode(episode({ turnId, scope, userText, response, users }));
          const { entries } = parseDay(fixture.read(`brain/hippocampus/episodes/${scope}/2026-11-21.md`));
          expect(entries.map((entry) => entry.marker?.turnId)).toEqual(["t1", "t2"]);
          const plain = (text: string) => text.replaceAll("\0", "\uFFFD").replace(/\s+/gu, " ").trim();
          expect(plain(readableEntry(entries[0]?.raw ?? ""))).toContain(plain(userText));
        },
      ),
      { numRuns: 40 },
    );
  });

  test("goes to the UTC day of its turn, on either side of midnight", async () => {
    const midnight = Date.UTC(2026, 10, 22);
    await fixture.memory.saveEpisode(episode({ turnId: "t1", at: midnight - 1 }));
    await fixture.memory.saveEpisode(episode({ turnId: "t2", at: midnight }));
    expect(fixture.list("brain/hippocampus/episodes/channel:general")).toEqual(["2026-11-21.md", "2026-11-22.md"]);
    expect(fixture.read(day)).toContain("## 23:59 —");
  });

  test("keeps what people wrote into the file", async () => {
    await fixture.memory.saveEpisode(episode());
    fixture.write(day, `${fixture.read(day)}\n## 12:05 — by hand\n\nRemember the milk.\n`);
    await fixture.memory.saveEpisode(episode({ response: "Now one is red." }));
    expect(fixture.read(day)).toContain("Remember the milk.");
    expect(fixture.read(day)).toContain("Now one is red.");
    expect(fixture.read(day)).not.toContain("all are green");
  });

  test("is found again in a day of many full parts without keeping their text in memory", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const [folder, name] = [join(fixture.workspace, dirname(day)), basename(day, ".md")];
    mkdirSync(folder, { recursive: true });
    for (let part = 1; part <= 64; part++) {
      const marker = `<!-- turn=a-turn-of-the-part-${part} at=2026-11-21T12:00:00.000Z outcome=done users=U1 from=%5B%5D -->`;
      writeFileSync(
        join(folder, part === 1 ? `${name}.md` : `${name}.${part}.md`),
        `# Day\n${marker}\n${"ä".repeat(40_000)}\n`,
      );
    }
    const days = createDayFiles(fixture.workspace, createFileOrder(fixture.workspace));
    collect();
    const before = process.memoryUsage().heapUsed;
    await days.change({
      ...{ kind: "episode", scope: "channel:general", at: noon, edit: (current) => `${current}new` },
      entry: {
        id: "a-turn-of-no-part",
        idsIn: (text) => Array.from(text.matchAll(/\n<!-- turn=(\S+) /g), (found) => found[1] ?? ""),
      },
    });
    collect();
    expect((process.memoryUsage().heapUsed - before) / 64).toBeLessThan(10_000);
    expect(fixture.list(dirname(day))).toHaveLength(64);
  });

  test("begins another part when the day's file is big or no text, and finds its turn again in any part", async () => {
    const folder = "brain/hippocampus/episodes/channel:general";
    fixture.write(day, new Uint8Array([0xff, 0xfe, 0x00]));
    await fixture.memory.saveEpisode(episode({ response: "x".repeat(15_000) }));
    for (let index = 2; index < 14; index++) {
      await fixture.memory.saveEpisode(episode({ turnId: `t${index}`, response: "y".repeat(15_000) }));
    }
    expect(fixture.list(folder)).toEqual(["2026-11-21.2.md", "2026-11-21.3.md", "2026-11-21.4.md", "2026-11-21.md"]);
    await fixture.memory.saveEpisode(episode({ response: "short now" }));
    expect(fixture.read(`${folder}/2026-11-21.2.md`)).toContain("short now");
    const saved = fixture.list(folder).map((name) => parseDay(fixture.read(`${folder}/${name}`)).entries.length);
    expect(saved.reduce((sum, count) => sum + count, 0)).toBe(13);
  });

  test("that can't be written rejects with what to do, and leaves nothing behind", async () => {
    mkdirSync(join(fixture.workspace, "brain/hippocampus"), { recursive: true });
    writeFileSync(join(fixture.workspace, "brain/hippocampus/episodes"), "a file where a folder should be");
    const failure = await fixture.memory.saveEpisode(episode()).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(RemoraError);
    expect(failure).toMatchObject({ code: "memory.unwritable" });
    expect(String(failure)).toContain("Check that the folder exists");
    expect(fixture.list("brain/hippocampus")).toEqual(["episodes"]);
    expect(fixture.events).toEqual([]);
  });

  test("of a scope whose name no disk can hold rejects, and the next one is saved", async () => {
    const scope = `channel:${"猫".repeat(100)}` as const;
    await expect(fixture.memory.saveEpisode(episode({ scope }))).rejects.toMatchObject({ code: "memory.unwritable" });
    await expect(fixture.memory.recordFeedback(feedback({ scope }))).rejects.toMatchObject({
      code: "memory.unwritable",
    });
    await fixture.memory.saveEpisode(episode());
    expect(fixture.read(day)).toContain("Which tests are red?");
  });
});

describe("feedback on disk", () => {
  test("a line with an id is written once, also by the next process; how long it took is read back", async () => {
    const decision = feedback({ id: "a1:denied", outcome: "denied", by: bob, waitedMs: 61_400 });
    for (let round = 0; round < 2; round++) await fixture.memory.recordFeedback(decision);
    await fixture.memory.recordFeedback(feedback({ id: "a2:denied", outcome: "denied", by: bob, waitedMs: 0 }));
    await fixture.reopen().recordFeedback(decision);
    const lines = parseFeedback(fixture.read("brain/basalganglia/channel:general/2026-11-21.md"));
    expect(lines).toMatchObject([
      { outcome: "denied", by: { id: "U2" }, waitedSeconds: 61, summary: expect.not.stringContaining("<!--") },
      { outcome: "denied", waitedSeconds: 0 },
    ]);
    expect(lines).toHaveLength(2);
    expect(fixture.events).toHaveLength(2);
  });

  test("is one line a call or decision, with who", async () => {
    await fixture.memory.recordFeedback(feedback({ outcome: "denied", by: bob }));
    await fixture.memory.recordFeedback(feedback({ at: noon + 61_000 }));
    expect(fixture.read("brain/basalganglia/channel:general/2026-11-21.md")).toBe(
      [
        "# 2026-11-21 (UTC) — channel:general",
        "",
        '- 12:00:00 shell_exec: denied by Bob (U2) — `{"command":"ls"}`',
        '- 12:01:01 shell_exec: ok — `{"command":"ls"}`',
        "",
      ].join("\n"),
    );
    expect(fixture.events.map((event) => event.fields)).toMatchObject([{ outcome: "denied" }, { outcome: "ok" }]);
  });

  test("of a turn without tools is a line for people: not in the preference history, and not found", async () => {
    const line = { tool: "turn without tools", summary: "test/model", outcome: "done", id: "t1:done" };
    for (let round = 0; round < 2; round++) await fixture.memory.recordFeedback(feedback(line));
    const text = fixture.read("brain/basalganglia/channel:general/2026-11-21.md");
    expect(text.match(/^- 12:00:00 turn without tools: done — `test\/model`/gm)).toHaveLength(1);
    expect(await fixture.memory.digest("channel:general")).toBe("");
    const found = { query: "turn without tools test model", scopes: ["channel:general" as const], limit: 5 };
    expect(await fixture.memory.search(found)).toEqual([]);
  });

  test("reads back as it was recorded, whatever the names and arguments are", async () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 40 });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(text, text, async (name, command) => {
        const scope = `channel:c${++count}` as const;
        await fixture.memory.recordFeedback(
          feedback({ scope, summary: JSON.stringify({ command }), by: { ...ann, name } }),
        );
        const lines = parseFeedback(fixture.read(`brain/basalganglia/${scope}/2026-11-21.md`));
        expect(lines).toMatchObject([{ tool: "shell_exec", outcome: "ok", by: { id: "U1" } }]);
      }),
      { numRuns: 60 },
    );
  });

  test("that people have edited beyond reading is passed over", async () => {
    await fixture.memory.recordFeedback(feedback({ outcome: "failed" }));
    const path = "brain/basalganglia/channel:general/2026-11-21.md";
    fixture.write(path, `${fixture.read(path)}- what is this?\n- 12:00 half a line\n`);
    const row = '- shell_exec {"command":"ls"}: failed (last 2026-11-21)';
    expect(await fixture.memory.digest("channel:general")).toBe(row);
  });
});

function partOf(name: string): number {
  return Number(/\.(\d+)\.md$/.exec(name)?.[1] ?? 1);
}
