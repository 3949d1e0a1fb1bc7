import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { Log } from "../../src/lib/log.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import type { SkillSet } from "../../src/ports/skill.ts";
import { briefs, createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { skillFolder, skillText, writeFiles } from "./folders.ts";

function openLibrary(roots: string[], log: Log = silentLog) {
  const events = createEvents();
  const heard: RemoraEvent[] = [];
  events.listen((event) => heard.push(event));
  const library = createSkillLibrary({ roots, log, events });
  onTestFinished(() => library.close());
  return { library, heard };
}

/** Resolves as soon as the set in force is as wanted. */
function until(library: ReturnType<typeof createSkillLibrary>, isWanted: (set: SkillSet) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (set: SkillSet) => {
      if (!isWanted(set)) return;
      stop();
      resolve();
    };
    const stop = library.onChange(check);
    check(library.current());
  });
}

const hasSkill = (name: string, description?: string) => (set: SkillSet) =>
  set.skills.some((skill) => skill.name === name && (description === undefined || skill.description === description));

describe("live skills", () => {
  test("a changed, an added and a removed skill are in force without a restart", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a"), "b/SKILL.md": skillText("b") });
    const { library } = openLibrary([root]);
    await library.reload();
    await library.watch();
    await writeFile(join(root, "a/SKILL.md"), skillText("a").replace("What a does", "Changed"));
    await until(library, hasSkill("a", "Changed"));
    await writeFiles(root, { "c/SKILL.md": skillText("c") });
    await until(library, hasSkill("c"));
    await rm(join(root, "b"), { recursive: true });
    await until(library, (set) => !hasSkill("b")(set));
    expect(library.current().skills.map(({ name }) => name)).toEqual(["a", "c"]);
  });

  test("a root that is made later, a skill moved in and an editor's save by renaming are seen", async () => {
    const parent = await skillFolder({ "elsewhere/SKILL.md": skillText("moved") });
    const root = join(parent, "skills");
    const { library } = openLibrary([root]);
    await library.reload();
    await library.watch();
    await writeFiles(root, { "a/SKILL.md": skillText("a") });
    await until(library, hasSkill("a"));
    await rename(join(parent, "elsewhere"), join(root, "moved"));
    await until(library, hasSkill("moved"));
    await writeFile(join(root, "a/SKILL.md.tmp"), skillText("a").replace("What a does", "Saved"));
    await rename(join(root, "a/SKILL.md.tmp"), join(root, "a/SKILL.md"));
    await until(library, hasSkill("a", "Saved"));
  });

  test("a root two folders below what is there is seen as soon as it is made", async () => {
    const home = await skillFolder({ "README.md": "x" });
    const root = join(home, ".agents/skills");
    const { library, heard } = openLibrary([root]);
    await library.reload();
    await library.watch();
    await writeFiles(root, { "a/SKILL.md": skillText("a") });
    await until(library, hasSkill("a"));
    expect(heard.map(({ name }) => name)).toEqual(["skill.loaded"]);
  });

  test("a broken edit keeps what the skill said before, says so, and the repaired file counts again", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a", "danger_patterns: [x]") });
    const { library, heard } = openLibrary([root]);
    const [before] = (await library.reload()).skills;
    await writeFile(join(root, "a/SKILL.md"), skillText("a", "danger_patterns: [y").replace("What", "New: what"));
    const broken = await library.reload();
    expect(broken.skills).toEqual([before]);
    expect(broken.diagnostics.map(({ code }) => code)).toEqual(["skill.yaml-error", "skill.last-good-kept"]);
    expect(heard.filter(({ name }) => name === "skill.rejected").length).toBe(1);
    await library.reload();
    expect(heard.filter(({ name }) => name === "skill.rejected").length).toBe(1);
    await writeFile(join(root, "a/SKILL.md"), skillText("a", "danger_patterns: [y]"));
    expect(await library.reload()).toMatchObject({ skills: [{ rules: [{ pattern: "y" }] }], diagnostics: [] });
  });

  test("a broken file that was never good is not in force, and neither is one that was removed in between", async () => {
    const root = await skillFolder({ "a/SKILL.md": "---\nname: a", "b/SKILL.md": skillText("b") });
    const { library } = openLibrary([root]);
    await library.reload();
    await rm(join(root, "b/SKILL.md"));
    await library.reload();
    await writeFile(join(root, "b/SKILL.md"), "---\nname: b");
    expect((await library.reload()).skills).toEqual([]);
  });

  test("each new finding is in the log once, with its file and line", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a", "version: 1.10") });
    const warn = vi.fn<Log["warn"]>();
    const { library } = openLibrary([root], { ...silentLog, warn });
    await library.reload();
    await library.reload();
    expect(warn.mock.calls).toMatchObject([
      [{ path: join(root, "a/SKILL.md"), line: 4, code: "skill.not-a-string" }, expect.any(String)],
    ]);
  });

  test("a set in force is never changed in place, and an unchanged skill stays the same object", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a"), "b/SKILL.md": skillText("b") });
    const { library } = openLibrary([root]);
    const first = await library.reload();
    await writeFiles(root, { "b/SKILL.md": skillText("b", "", "Longer than it was.") });
    const second = await library.reload();
    expect(second).not.toBe(first);
    expect(second.skills[0]).toBe(first.skills[0]);
    expect(first.skills[1]?.body).toBe("\nDo the thing.\n");
    expect(second.skills[1]?.body).toBe("\nLonger than it was.\n");
  });

  test("reloads asked for at once each see the files as they were when they were asked for, or newer", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a") });
    const { library } = openLibrary([root]);
    const early = library.reload();
    await writeFiles(root, { "b/SKILL.md": skillText("b") });
    const late = library.reload();
    expect((await late).skills.map(({ name }) => name)).toEqual(["a", "b"]);
    expect((await early).skills.length).toBeGreaterThan(0);
  });

  test("briefs say what the context needs", async () => {
    const root = await skillFolder({
      "a/SKILL.md": skillText("a", "triggers: [x]"),
      "b/SKILL.md": skillText("b", "tools: [{ name: t }]"),
    });
    const { library } = openLibrary([root]);
    expect(briefs(await library.reload())).toEqual([
      { name: "a", description: "What a does", triggers: ["x"], isCapability: false, body: "\nDo the thing.\n" },
      { name: "b", description: "What b does", triggers: [], isCapability: true, body: "\nDo the thing.\n" },
    ]);
  });
});
