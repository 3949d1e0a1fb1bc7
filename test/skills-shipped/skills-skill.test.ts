/** The skills skill for real: SKILL.md, plugin, gate and toolbox, with a workspace and skills from elsewhere. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createToolbox, type ToolboxOptions } from "../../src/skill-runtime/toolbox.ts";
import { skillText, temporaryFolder, writeFiles } from "../skill-runtime/folders.ts";
import { skillsFolder } from "./place.ts";

const own = join(skillsFolder, "skills");
const set = await loadSkills([own]);
const gates = (["extended", "exact"] as const).map((matching) => createGate({ rules: gateRules(set), matching }));

/** Shipped: this skill and `guard`, which has patterns. */
async function open(more: Partial<ToolboxOptions> = {}) {
  const home = await temporaryFolder();
  const shipped = join(home, "shipped");
  const workspace = join(home, "workspace");
  await mkdir(join(workspace, "files"), { recursive: true });
  await writeFiles(shipped, { "guard/SKILL.md": skillText("guard", "danger_patterns: [mkfs]") });
  const roots = [own, shipped, join(workspace, "skills")];
  const library = createSkillLibrary({ roots, log: silentLog, events: createEvents() });
  await library.reload();
  const filesRoot = join(workspace, "files");
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace,
    filesRoot,
    dataFolder: join(home, "data"),
    config: {},
    ...more,
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
  });
  const requester = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const at = { turnId: "t1", conversationId: "local:dm:ann", scope: "dm:ann", requester } as const;
  const run = async (name: string, input: JsonObject = {}) => {
    const call = { id: "c1", name, input };
    return await toolbox.run(call, { ...at, workingFolder: join(filesRoot, "ann") }, new AbortController().signal);
  };
  const skills = join(workspace, "skills");
  return {
    library,
    toolbox,
    run,
    skills,
    write: (name: string, content: string, file?: string) =>
      run("write_skill", { name, content, ...(file === undefined ? {} : { file }) }),
    read: (path: string) => readFile(join(skills, path), "utf8"),
    names: () => library.current().skills.map(({ name }) => name),
  };
}

const notes = (fields = "", body = "Write them short.") =>
  `---\nname: release-notes\ndescription: Writes release notes\n${fields}---\n\n${body}\n`;

describe("the skill", () => {
  test("loads without a word to say about it, and is short in every prompt", () => {
    expect(set.diagnostics).toEqual([]);
    expect(set.skills[0]?.tools.map(({ name, isReadOnly }) => [name, isReadOnly])).toEqual([
      ["list_skills", true],
      ["write_skill", false],
      ["edit_skill", false],
    ]);
    expect(set.skills[0]?.description.length).toBeLessThanOrEqual(100);
  });

  test.each(set.skills[0]?.gateTests ?? [])("$tool $args is $want", ({ tool, args, want }) => {
    for (const gate of gates) expect(gate.classify(tool, args).class).toBe(want);
  });

  test("a card says when the turn has read what others wrote", () => {
    const verdict = gates[0]?.classify("write_skill", { name: "x", content: "y" }, ["#taint:untrusted"]);
    expect(verdict?.matches.map(({ reason }) => reason).join()).toContain("nobody here gave");
  });
});

describe("writing", () => {
  test("a skill is a file of the workspace, in force at once, and can be loaded", async () => {
    const { write, run, read, names } = await open();
    const { isOk, text } = await write("release-notes", notes("triggers: [changelog]\n"));
    expect([isOk, text]).toEqual([
      true,
      "Written: workspace/skills/release-notes/SKILL.md. The skill release-notes is in force from the next step on, in every conversation that may use it.",
    ]);
    expect(await read("release-notes/SKILL.md")).toBe(notes("triggers: [changelog]\n"));
    expect(names()).toContain("release-notes");
    expect((await run("load_skill", { name: "release-notes" })).text).toContain("Write them short.");
    expect((await run("list_skills", { query: "release" })).text).toBe(
      "- release-notes — Writes release notes (in the workspace)",
    );
  });

  test("a file beside it, which is loaded with it", async () => {
    const { write, run, read } = await open();
    await write("release-notes", notes());
    expect((await write("release-notes", "- a\n", "templates/list.md")).isOk).toBe(true);
    expect(await read("release-notes/templates/list.md")).toBe("- a\n");
    expect((await run("load_skill", { name: "release-notes", file: "templates/list.md" })).text).toBe("- a\n");
  });

  test("a passage is changed where it occurs once, and nothing else is", async () => {
    const { write, run, read } = await open();
    await write("release-notes", notes("", "One. Two. Two."));
    const edit = (old_text: string, new_text: string, file?: string) =>
      run("edit_skill", { name: "release-notes", old_text, new_text, ...(file === undefined ? {} : { file }) });
    expect((await edit("One.", "Three.")).isOk).toBe(true);
    expect(await read("release-notes/SKILL.md")).toBe(notes("", "Three. Two. Two."));
    expect(await edit("Two.", "x")).toMatchObject({ isOk: false, text: expect.stringContaining("occurs 2 times") });
    expect(await edit("Nine", "x")).toMatchObject({ isOk: false, text: expect.stringContaining("does not occur") });
    expect(await edit("a", "b", "none.md")).toMatchObject({
      isOk: false,
      text: expect.stringContaining("does not exist"),
    });
    expect(await edit("name: release-notes", "name: [")).toMatchObject({ isOk: false });
    expect(await read("release-notes/SKILL.md")).toBe(notes("", "Three. Two. Two."));
  });
});

describe("what is refused, whoever approves it", () => {
  test.each([
    ["no frontmatter", "Just text.", /no frontmatter/],
    ["another name than its folder's", notes().replace("name: release-notes", "name: other"), /name/],
    ["a finding of the loader", notes("triggers: one, two\n"), /line 4: triggers should be a list/],
    ["tools", notes("tools: [{ name: act }]\n"), /tools may not be there/],
    ["danger patterns", notes("danger_patterns: ['.']\n"), /danger_patterns may not be there/],
    ["confirm patterns", notes("confirm_patterns: ['^x ']\n"), /confirm_patterns may not/],
    ["a field that means nothing any more", notes("read_only: ['.*']\n"), /read_only no longer has an effect/],
    ["what it requires", notes("requires: [guard]\n"), /requires may not be there/],
    ["tools at run time", notes("provides_tools: true\n"), /provides_tools/],
    ["a place in every message", notes("triggers: ['*']\n"), /trigger "\*" may not/],
    ["a NUL", notes("", "a\u0000b"), /NUL/],
  ])("%s", async (_what, content, message) => {
    const { write, skills, names } = await open();
    expect(await write("release-notes", content)).toMatchObject({ isOk: false, text: expect.stringMatching(message) });
    expect(existsSync(join(skills, "release-notes/SKILL.md"))).toBe(false);
    expect(names()).not.toContain("release-notes");
  });

  test.each([
    ...[
      "plugin.ts",
      "Plugin.MJS",
      "plugin",
      "plugin/index.js",
      "./plugin.js",
      "../guard/SKILL.md",
      "/etc/x.md",
      ".env",
    ],
    ...[
      "a/../../x.md",
      "skill.md",
      "sub/SKILL.md",
      "node_modules/x/index.js",
      "a/b/c/d/e.md",
      "a\\b.md",
      "x.",
      "a//b.md",
      "",
    ],
  ])("the file %j", async (file) => {
    const { write, skills } = await open();
    await write("release-notes", notes());
    const before = await readdir(skills, { recursive: true });
    const { isOk } = await write("release-notes", "text", file);
    expect(isOk).toBe(false);
    expect(await readdir(skills, { recursive: true })).toEqual(before);
  });

  test("a skill that came from elsewhere, by its name, its folder's, or from above", async () => {
    const { write, library, skills } = await open();
    expect(await write("guard", notes().replace("release-notes", "guard"))).toMatchObject({
      isOk: false,
      text: expect.stringMatching(/already exists at .*shipped\/guard\/SKILL\.md/),
    });
    await writeFiles(skills, { "team/inner/SKILL.md": skillText("inner", "danger_patterns: [x]") });
    await library.reload();
    expect(await write("team", notes().replace("release-notes", "team"))).toMatchObject({ isOk: false });
    expect(await write("team", "text", "inner/notes.md")).toMatchObject({ isOk: false });
    expect(await write("inner", notes().replace("release-notes", "inner"))).toMatchObject({ isOk: false });
    for (const name of ["../guard", "a/b", "A", "", ".hidden", "-x"])
      expect(await write(name, notes())).toMatchObject({ isOk: false });
  });

  test("patterns and tools of a skill that has them stay as they are, and so do the files beside code", async () => {
    const { write, run, library, skills } = await open();
    const text = skillText(
      "release-notes",
      "tools: [{ name: act }]\ndanger_patterns: [mkfs]\nconfirm_patterns: ['^act ']",
    );
    await writeFiles(skills, { "release-notes/SKILL.md": text, "release-notes/plugin.mjs": "export default {};" });
    await library.reload();
    const edit = (old_text: string, new_text: string) =>
      run("edit_skill", { name: "release-notes", old_text, new_text });
    expect((await edit("Do the thing.", "Do it well.")).isOk).toBe(true);
    expect(await edit("danger_patterns: [mkfs]\n", "")).toMatchObject({
      isOk: false,
      text: expect.stringContaining("danger_patterns may not be changed"),
    });
    expect(await edit("name: act", "name: shell_exec")).toMatchObject({ isOk: false });
    expect(await write("release-notes", notes())).toMatchObject({ isOk: false });
    expect(await write("release-notes", "export const x = 1;", "helper.mjs")).toMatchObject({
      isOk: false,
      text: expect.stringContaining("has code"),
    });
  });

  test("a skill that has patterns can't be made to be left out, neither by what it requires nor by what that requires", async () => {
    const { run, library, skills, names } = await open();
    await writeFiles(skills, {
      "strict/SKILL.md": skillText("strict", "danger_patterns: [mkfs]\nrequires: [helper]"),
      "helper/SKILL.md": skillText("helper"),
    });
    await library.reload();
    const edit = (name: string, old_text: string, new_text: string) => run("edit_skill", { name, old_text, new_text });
    expect((await edit("helper", "\n---\n\n", "\nrequires: [nobody]\n---\n\n")).text).toContain("requires may not be");
    expect((await edit("strict", "[helper]", "[nobody]")).text).toContain("requires may not be changed");
    expect(names()).toEqual(expect.arrayContaining(["strict", "helper"]));
  });

  test("a broken file does not free what it said: what is in force is what counts", async () => {
    const { write, library, skills } = await open();
    await writeFiles(skills, { "release-notes/SKILL.md": skillText("release-notes", "danger_patterns: [mkfs]") });
    await library.reload();
    await writeFiles(skills, { "release-notes/SKILL.md": "broken" });
    await library.reload();
    expect(await write("release-notes", notes())).toMatchObject({ isOk: false });
  });

  test("a link that leads out of the folder of skills", async () => {
    const { write, skills } = await open();
    const outside = await temporaryFolder();
    await mkdir(join(skills, "release-notes"), { recursive: true });
    await symlink(outside, join(skills, "linked"));
    await symlink(outside, join(skills, "release-notes/templates"));
    expect(await write("linked", notes().replace("release-notes", "linked"))).toMatchObject({ isOk: false });
    await write("release-notes", notes());
    expect(await write("release-notes", "x", "templates/a.md")).toMatchObject({ isOk: false });
    expect(await readdir(outside)).toEqual([]);
  });

  test("everything, where only owners may and somebody else asks", async () => {
    const { write, names } = await open({ mayWriteSkills: async ({ requester }) => requester.id === "bob" });
    expect(await write("release-notes", notes())).toMatchObject({
      isOk: false,
      text: expect.stringContaining("owners"),
    });
    expect(names()).not.toContain("release-notes");
  });
});

test("list_skills shows what is allowed here, and what is wrong with files of skills", async () => {
  const { run, library, skills } = await open({ config: { deny: ["guard"] } });
  await writeFiles(skills, { "broken/SKILL.md": "---\nname: broken\n---\n" });
  await library.reload();
  const { text } = await run("list_skills");
  expect(text).toContain("- skills — ");
  expect(text).not.toContain("- guard");
  expect(text).toMatch(/Problems of skill files.*\n- skills\/broken\/SKILL\.md:\d+: there is no description/);
  expect((await run("list_skills", { query: "zebra" })).text).toMatch(/^No skill matches "zebra"/);
});
