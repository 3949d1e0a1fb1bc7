/** The memory skill for real: SKILL.md, plugin, toolbox, gate, and a memory on disk. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createScopedMemory } from "../../src/memory/scoped.ts";
import type { Author, JsonObject, Scope } from "../../src/ports/message.ts";
import { type Origin, originOf } from "../../src/ports/origin.ts";
import { payerOf } from "../../src/ports/usage.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { turnRecord } from "../doubles/records.ts";
import { ann, bob, createMemoryFixture, episode } from "../memory/fixture.ts";
import { skillsFolder } from "./place.ts";

const root = join(skillsFolder, "memory");
const set = await loadSkills([root]);
const gate = createGate({ rules: gateRules(set), matching: "extended" });
const exactGate = createGate({ rules: gateRules(set), matching: "exact" });
const gateTests = set.skills.flatMap((skill) => skill.gateTests);

/** Bob is an owner. */
async function open(hasMemory = true) {
  const fixture = createMemoryFixture();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const filesRoot = join(fixture.workspace, "files");
  await mkdir(filesRoot, { recursive: true });
  const memoryFor = createScopedMemory(fixture.memory, async ({ requester }) => requester.id === bob.id);
  const toolbox = createToolbox({
    ...{
      library,
      log: silentLog,
      workspace: fixture.workspace,
      filesRoot,
      dataFolder: join(fixture.workspace, "data"),
    },
    config: {},
    ...(hasMemory
      ? {
          servicesFor: ({ scope, onRead }) => ({ memory: memoryFor(scope, async () => payerOf(turnRecord()), onRead) }),
        }
      : {}),
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
    await fixture.remove();
  });
  const workingFolder = join(filesRoot, "c1");
  const run = (
    name: string,
    input: JsonObject,
    scope: Scope = "channel:general",
    requester: Author = ann,
    untrusted: Origin[] = [],
  ) =>
    toolbox.run(
      { id: "c1", name, input },
      { turnId: "t1", conversationId: "test:c1", scope, requester, workingFolder, untrusted },
      new AbortController().signal,
    );
  return { fixture, run };
}

test("it loads without a word to say about it, and is short in every prompt", () => {
  expect(set.diagnostics).toEqual([]);
  expect(gate.diagnostics()).toEqual([]);
  expect(set.skills.map(({ name, tools }) => [name, tools.map((tool) => tool.name)])).toEqual([
    ["memory", ["remember", "recall", "forget_note"]],
  ]);
  expect(set.skills[0]?.description.length).toBeLessThanOrEqual(100);
});

describe.each([
  ["extended", gate],
  ["exact", exactGate],
] as const)("with %s matching", (_name, one) => {
  test.each(gateTests)("$tool $args is $want", ({ tool, args, want }) => {
    expect(one.classify(tool, args).class).toBe(want);
  });
});

test("keeping a note asks once the turn has read what others wrote", () => {
  const note = { text: "The demo is on Friday." };
  // The note keeps its marks instead, so that nobody need be asked.
  expect(gate.classify("remember", note, ["#taint:untrusted"]).class).toBe("safe");
  expect(gate.classify("recall", { query: "demo" }, ["#taint:untrusted"]).class).toBe("safe");
});

describe("a note", () => {
  test("is a Markdown file of its place, found again there and nowhere else", async () => {
    const { run, fixture } = await open();
    await run("remember", { title: "Harbour", text: "It opens at nine." }, "dm:U1");
    expect(fixture.read("brain/hippocampus/knowledge/dm:U1/harbour.md")).toBe("# Harbour\n\nIt opens at nine.\n");
    expect((await run("recall", { query: "harbour opens" }, "dm:U1")).text).toContain("It opens at nine.");
    expect((await run("recall", { query: "harbour opens" })).text).toContain("Memory has nothing");
    expect((await run("recall", { query: "harbour opens" }, "dm:U2", bob)).text).toContain("Memory has nothing");
    expect(await run("forget_note", { title: "Harbour" })).toMatchObject({ isOk: false });
    expect((await run("forget_note", { title: "harbour" }, "dm:U1")).text).toContain("Deleted the note");
    expect((await run("recall", { query: "harbour opens" }, "dm:U1")).text).toContain("Memory has nothing");
  });

  test("that replaces another says what that one said", async () => {
    const { run } = await open();
    expect((await run("remember", { title: "Demo", text: "Friday." })).text).toBe(
      'Saved for this DM or channel under the title "Demo".',
    );
    expect((await run("remember", { title: "demo", text: "Monday." })).text).toContain(
      "It replaced:\n\n# Demo\n\nFriday.",
    );
  });

  test("a note is replaced after text from outside only by a call with replace, which asks; a new one is saved with its origin", async () => {
    const { run } = await open();
    await run("remember", { title: "Demo", text: "Friday." });
    const page = [originOf("web", "example.com")];
    const tainted = (input: JsonObject) => run("remember", input, "channel:general", ann, page);
    for (const more of [{}, { replace: false }])
      expect(await tainted({ title: "demo", text: "Never.", ...more })).toMatchObject({
        isOk: false,
        text: expect.stringContaining(
          'there is a note "demo", and this turn has read text from outside, so it is kept',
        ),
      });
    expect((await run("recall", { query: "demo" })).text).toContain("Friday.");
    expect(await tainted({ title: "Never", text: "No demo." })).toMatchObject({ isOk: true });
    expect((await run("recall", { query: "Never" })).origins).toMatchObject(
      expect.arrayContaining([{ ...page[0], via: "recalled memory" }]),
    );
    expect((await tainted({ title: "demo", text: "Monday.", replace: true })).text).toContain("It replaced");
  });

  test("without a title is called by its first words", async () => {
    const { run, fixture } = await open();
    await run("remember", {
      text: "\n- The demo is on Friday and everybody who wants to see it should come early\nmore",
    });
    expect(fixture.list("brain/hippocampus/knowledge/channel:general")).toEqual([
      "the-demo-is-on-friday-and-everybody-who-wants-to-see-it.md",
    ]);
    expect(await run("remember", { text: " … " })).toMatchObject({ isOk: false });
  });

  test("of a title that looks like a path stays in its place's folder", async () => {
    const { run, fixture } = await open();
    for (const title of ["../../../escape", "/etc/passwd", "..", "shared/x"])
      await run("remember", { title, text: "x" });
    expect(fixture.list("brain/hippocampus/knowledge").filter((name) => name.endsWith(".md"))).toHaveLength(4);
    expect(fixture.list("brain/hippocampus/knowledge").every((name) => name.startsWith("channel:general"))).toBe(true);
  });

  test("holds no secret that is known as one", async () => {
    const { run, fixture } = await open();
    await run("remember", { title: "Key", text: "It is a-very-secret-value." });
    expect(fixture.read("brain/hippocampus/knowledge/channel:general/key.md")).not.toContain("a-very-secret-value");
  });
});

describe("a shared note", () => {
  test("is written and removed by owners alone, and read everywhere", async () => {
    const { run } = await open();
    const note = { title: "Holidays", text: "Fridays are free.", shared: true };
    expect((await run("remember", note)).text).toMatch(/^Saved for this DM or channel only, because only owners/);
    expect((await run("recall", { query: "fridays" }, "dm:U3")).text).not.toContain("Holidays");
    expect((await run("remember", note, "dm:U2", bob)).text).toContain("for every conversation");
    expect((await run("recall", { query: "fridays" }, "dm:U1")).text).toMatch(/## Holidays \(.*shared\)\n/);
    expect(await run("forget_note", { title: "Holidays", shared: true })).toMatchObject({ isOk: false });
    expect(await run("forget_note", { title: "Holidays", shared: true }, "dm:U2", bob)).toMatchObject({ isOk: true });
  });
});

test("recall finds earlier conversations of the place, at most as many as asked for, each with its time once", async () => {
  const { run, fixture } = await open();
  for (const turnId of ["a", "b", "c"]) {
    await fixture.memory.saveEpisode(
      episode({ turnId, userText: `harbour talk ${turnId}`, at: episode().at + turnId.charCodeAt(0) * 60_000 }),
    );
  }
  const { text } = await run("recall", { query: "harbour talk", limit: 2 });
  expect(text.match(/^## /gm)).toHaveLength(2);
  for (const head of text.match(/^## .*/gm) ?? [])
    expect(head).toMatch(/^## harbour talk [abc] \(\d{4}-\d\d-\d\d \d\d:\d\d\)$/);
});

test("where there is no memory the tools say so", async () => {
  const { run } = await open(false);
  expect(await run("recall", { query: "x" })).toMatchObject({ isOk: false, text: "Memory is not available here." });
});
