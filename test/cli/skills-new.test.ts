/** `remora skills new` and `list`: what is begun works, passes its own check, and is in the list. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { skillText, writeFiles } from "../skill-runtime/folders.ts";
import { remora, temporaryFolder } from "./remora-command.ts";
import { remoraHere } from "./remora-here.ts";

vi.setConfig({ testTimeout: 60_000 });

describe("skills new", () => {
  test("makes a skill that passes `skills check` without a word about it, tests of its patterns included", async () => {
    const home = await temporaryFolder();
    const made = await remora(home, "skills", "new", "to-do");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toContain("skills check");
    const folder = join(home, "workspace/skills/to-do");
    expect((await readdir(folder)).sort()).toEqual(["SKILL.md", "plugin.mjs"]);
    const checked = await remora(home, "skills", "check", folder, "--json");
    expect(checked).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(checked.stdout)).toMatchObject([
      {
        name: "to-do",
        verdict: "accept",
        loaded: true,
        tools: ["to_do_add", "to_do_list", "to_do_clear"],
        diagnostics: [],
      },
    ]);
    // Beside all that is shipped as well, where every pattern holds for every tool.
    expect(await remoraHere(home, "skills", "check")).toMatchObject({ code: 0, stderr: "" });
  });

  test("and whose tools work", async () => {
    const home = await temporaryFolder();
    await remoraHere(home, "skills", "new", "to-do");
    const workspace = join(home, "workspace");
    const library = createSkillLibrary({ roots: [join(workspace, "skills")], log: silentLog, events: createEvents() });
    await library.reload();
    const [filesRoot, dataFolder] = [join(workspace, "files"), join(home, "data")];
    const toolbox = createToolbox({ library, log: silentLog, workspace, filesRoot, dataFolder, config: {} });
    onTestFinished(async () => {
      await toolbox.close();
      await library.close();
    });
    const scope = {
      turnId: "t",
      conversationId: "c",
      scope: "dm:ann" as const,
      requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
      workingFolder: join(filesRoot, "ann"),
    };
    const run = async (name: string, input = {}) =>
      (await toolbox.run({ id: "1", name, input }, scope, new AbortController().signal)).text;
    expect(await run("to_do_list")).toBe("The list is empty.");
    expect(await run("to_do_add", { text: "water the\nplants" })).toContain("Added");
    expect(await run("to_do_list")).toBe("water the plants\n");
    expect(await run("to_do_clear")).toBe("The list is empty now.");
  });

  test.each(["../x", "A", "a b", "-x", "a--b", "x".repeat(49)])("refuses the name %j", async (name) => {
    const home = await temporaryFolder();
    const { code, stdout } = await remoraHere(home, "skills", "new", "--", name);
    expect([code, stdout]).toEqual([1, ""]);
    expect(await readdir(home)).toEqual([]);
  });

  test("refuses a name that is taken, in the workspace or elsewhere, and says by what", async () => {
    const home = await temporaryFolder();
    expect((await remoraHere(home, "skills", "new", "shell")).stderr).toMatch(
      /already exists: .*skills\/shell\/SKILL\.md/,
    );
    await remoraHere(home, "skills", "new", "mine");
    expect(await remoraHere(home, "skills", "new", "mine")).toMatchObject({ code: 1 });
  });
});

describe("skills list", () => {
  test("has the skills in force with their tools and patterns, and says what a conversation may not use", async () => {
    const home = await temporaryFolder();
    await writeFiles(join(home, "workspace/skills"), {
      "mine/SKILL.md": skillText("mine", "version: 2.0.0\ndanger_patterns: [x]"),
      "broken/SKILL.md": "no frontmatter",
    });
    const { code, stdout, stderr } = await remoraHere(home, "skills", "list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^mine 2\.0\.0 — What mine does\n {4}1 danger, 0 confirm · .*mine\/SKILL\.md$/m);
    expect(stdout).toMatch(/^mcp .*\n {4}more tools while running/m);
    expect(stderr).toContain("1 file with problems");
    const listed = JSON.parse((await remoraHere(home, "skills", "list", "--json")).stdout);
    expect(listed.find(({ name }: { name: string }) => name === "shell")).toMatchObject({
      tools: ["shell_exec", "shell_jobs"],
      isDenied: false,
    });
    expect(listed.some(({ name }: { name: string }) => name === "broken")).toBe(false);
  });
});
