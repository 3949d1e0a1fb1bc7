/** The shipped skills as the loader, the gate and the toolbox see them. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { triggeredSkills } from "../../src/context/triggers.ts";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { briefs, createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { createBench } from "../sandbox/draft/draft-bench.ts";
import { skillsFolder } from "./place.ts";

/** Others are added beside these; what is said about these must not depend on them. */
const names = ["code-review", "filesystem", "git", "planning", "shell"];
const set = await loadSkills(names.map((name) => join(skillsFolder, name)));
const skillOf = (name: string) => {
  const skill = set.skills.find((one) => one.name === name);
  if (skill === undefined) throw new Error(`the skill ${name} did not load`);
  return skill;
};
const rules = gateRules(set);
const gate = createGate({ rules, matching: "extended" });
const exactGate = createGate({ rules, matching: "exact" });

test("all of them load, without a word to say about any", () => {
  expect(set.skills.map(({ name }) => name)).toEqual(names);
  expect(set.diagnostics).toEqual([]);
  expect(gate.diagnostics()).toEqual([]);
});

test("what stands in every prompt is short", () => {
  for (const { description } of set.skills) expect(description.length).toBeLessThanOrEqual(100);
});

test("no shipped skill is for every message, and tools are not injected by words", async () => {
  const all = await loadSkills([skillsFolder]);
  for (const { name, triggers } of all.skills) expect(triggers, name).not.toContain("*");
  for (const { tools, triggers, plugin } of set.skills) {
    if (tools.length > 0) expect([triggers, plugin === null]).toEqual([[], false]);
  }
});

test.each([
  ["plan", "make a plan for the release, please"],
  ["steps in German", "Geh das Schritt für Schritt durch"],
  ["what comes next in French", "corrige les tests et ensuite publie"],
  ["steps in Spanish", "hazlo paso a paso"],
  ["a plan in Russian", "составь план релиза"],
  ["a plan in Chinese", "请给我一个发布计划"],
  ["steps in Japanese", "リリースの手順を考えて"],
])("planning comes with words for plans and several steps: %s", (_, said) => {
  expect(triggeredSkills(briefs(set), said).map(({ brief }) => brief.name)).toEqual(["planning"]);
});

test.each([
  "good morning",
  "what is the difference between a mutex and a semaphore?",
  "remind me tomorrow at nine to call Ben",
  "Wie spät ist es in Lissabon?",
  "explain the airplane",
])("planning stays out of %j", (said) => {
  expect(triggeredSkills(briefs(set), said)).toEqual([]);
});

test("tools that only look are marked so, and those that change something are not", () => {
  const looking = set.skills.flatMap(({ tools }) =>
    tools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name),
  );
  expect(looking.sort()).toEqual(["list_folder", "read_file", "search_files"]);
  expect(rules.shellParameters.get("shell_exec")).toEqual(["command"]);
});

test("no comma has taken a description apart: in YAML's braces it begins a new key", () => {
  for (const { tools } of set.skills)
    for (const { parameters } of tools) expect(JSON.stringify(parameters)).not.toContain(":null");
});

const gateTests = set.skills.flatMap(({ name, gateTests: tests }) =>
  tests.map((one) => ({ ...one, skill: name, shown: JSON.stringify(one.args).slice(0, 100) })),
);

test.each(gateTests)("$skill: $tool $shown is $want", ({ tool, args, want }) => {
  expect(gate.classify(tool, args).class).toBe(want);
});

describe("matched to the letter", () => {
  test("the plain spellings are blocked and asked about as well", () => {
    const wrong = gateTests
      .filter(({ tool, want }) => tool === "shell_exec" && want !== "safe")
      .filter(({ tool, args }) => exactGate.classify(tool, args).class === "safe")
      .map(({ shown }) => shown);
    expect(wrong).toEqual([]);
  });

  test("what is harmless is not asked about", () => {
    const wrong = gateTests
      .filter(({ want }) => want === "safe")
      .filter(({ tool, args }) => exactGate.classify(tool, args).class !== "safe")
      .map(({ shown }) => shown);
    expect(wrong).toEqual([]);
  });
});

test("the shell's schema takes hosts for the network, and a job whose log to read", () => {
  const [exec, jobs] = skillOf("shell").tools;
  expect(exec?.parameters).toMatchObject({ properties: { network: { type: "array", items: { type: "string" } } } });
  expect(jobs?.parameters).toMatchObject({ properties: { read: { type: "string" }, stop: { type: "string" } } });
});

test("through the toolbox a command runs, and a bundled file of a skill is read", async () => {
  const bench = await createBench();
  const library = createSkillLibrary({ roots: [skillsFolder], log: silentLog, events: createEvents() });
  await library.reload();
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace: bench.workspace,
    filesRoot: join(bench.workspace, "files"),
    dataFolder: join(bench.root, "data", "skills"),
    config: {},
    drafts: bench.drafts,
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
    await bench.close();
  });
  const turn = await bench.startTurn();
  let calls = 0;
  const run = (name: string, input: { [key: string]: string }) =>
    toolbox.run({ id: `call${++calls}`, name, input }, bench.callOf(turn).scope, new AbortController().signal);
  expect((await run("write_file", { path: "a.txt", content: "from the file tool" })).isOk).toBe(true);
  expect((await run("shell_exec", { command: "cat a.txt" })).text).toBe("from the file tool\n\n(exit code 0)");
  expect(await run("shell_exec", { command: "exit 4" })).toMatchObject({ isOk: false, isRetryable: false });
  expect(await readdir(bench.folder())).toEqual([]);
  const checklist = await run("load_skill", { name: "code-review", file: "checklist.md" });
  expect(checklist.text).toContain("# Review checklist");
});
