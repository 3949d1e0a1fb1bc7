import { mkdir, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { compareVersions } from "../../src/lib/compare-versions.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { checkSkills, loadSkills } from "../../src/skill-runtime/library/load.ts";
import { skillFolder, skillText, temporaryFolder, writeFiles } from "./folders.ts";

const namesIn = async (...roots: string[]) => (await loadSkills(roots)).skills.map(({ name }) => name);
const findings = async (root: string) => {
  const { diagnostics } = await loadSkills([root]);
  return diagnostics.map(({ path, code }) => `${relative(root, path)} ${code}`);
};

describe("finding skills", () => {
  test("a root may be a folder of skills, also nested ones, or one skill", async () => {
    const root = await skillFolder({ "b/SKILL.md": skillText("b"), "a/deep/er/c/SKILL.md": skillText("c") });
    expect(await namesIn(root)).toEqual(["c", "b"]);
    expect(await namesIn(join(root, "b"))).toEqual(["b"]);
  });

  test("what lies below a SKILL.md belongs to that skill", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a"), "a/template/SKILL.md": skillText("template") });
    expect(await namesIn(root)).toEqual(["a"]);
  });

  test("four levels are searched, and what is below them is reported", async () => {
    const root = await skillFolder({ "1/2/3/four/SKILL.md": skillText("four"), "1/2/3/x/5/SKILL.md": skillText("5") });
    expect(await namesIn(root)).toEqual(["four"]);
    expect(await findings(root)).toEqual(["1/2/3/x/5 skill.too-deep"]);
  });

  test("the search ends after 2,000 folders without a skill, while 2,001 skills are no problem", async () => {
    const root = await temporaryFolder();
    for (let index = 0; index < 2_001; index += 1)
      await mkdir(join(root, "empty", String(index), "x"), { recursive: true });
    const set = await loadSkills([root]);
    expect(new Set(set.diagnostics.map(({ code }) => code))).toEqual(new Set(["skill.too-many-folders"]));
    const many = Object.fromEntries(
      Array.from({ length: 2_001 }, (_, index) => [`s${index}/SKILL.md`, skillText(`s${index}`)]),
    );
    expect((await namesIn(await skillFolder(many))).length).toBe(2_001);
  });

  test("a link inside the root is followed, also in a circle; a link out of it is reported and not followed", async () => {
    const outside = await skillFolder({ "evil/SKILL.md": skillText("evil") });
    const root = await skillFolder({ "store/real/SKILL.md": skillText("real"), "half/notes.txt": "" });
    await symlink(outside, join(root, "out"));
    await symlink(root, join(root, "half", "circle"));
    await symlink(join(outside, "evil", "SKILL.md"), join(root, "half", "SKILL.md"));
    await symlink(join(root, "store"), join(root, "again"));
    await symlink("/nowhere", join(root, "broken"));
    expect(await namesIn(root)).toEqual(["real"]);
    expect((await findings(root)).sort()).toEqual(["half/SKILL.md skill.link-out", "out skill.link-out"]);
  });

  test("nothing is loaded from a folder in which tools work, nor a skill that holds such a folder", async () => {
    const root = await skillFolder({
      "fine/SKILL.md": skillText("fine"),
      "site/kept/SKILL.md": skillText("kept"),
      "code/SKILL.md": skillText("code"),
      "code/templates/a.txt": "",
    });
    const workingFolders = [join(root, "site"), join(root, "code", "templates")];
    const { skills, diagnostics } = await loadSkills([root], { workingFolders });
    expect(skills.map(({ name }) => name)).toEqual(["fine"]);
    expect(diagnostics.map(({ path, code }) => `${relative(root, path)} ${code}`)).toEqual([
      "code skill.working-folder",
      "site skill.working-folder",
    ]);
    const above = await loadSkills([join(root, "site")], { workingFolders: [root] });
    expect(above.skills).toEqual([]);
  });

  test("a plugin that is a link out of the root is not the skill's code", async () => {
    const outside = await skillFolder({ "plugin.mjs": "export default {}" });
    const root = await skillFolder({
      "a/SKILL.md": skillText("a"),
      "b/SKILL.md": skillText("b"),
      "b/plugin/index.mjs": "",
    });
    await symlink(join(outside, "plugin.mjs"), join(root, "a", "plugin.mjs"));
    const { skills } = await loadSkills([root]);
    expect(skills.map(({ plugin }) => plugin)).toEqual([null, join(root, "b/plugin/index.mjs")]);
    expect(await findings(root)).toEqual(["a/SKILL.md skill.link-out"]);
  });

  test("what is called like a plugin and is no file is passed over", async () => {
    const root = await skillFolder({
      "a/SKILL.md": skillText("a"),
      "a/plugin.ts/x": "",
      "a/plugin/index.mjs": "",
      "b/SKILL.md": skillText("b"),
    });
    await execa("mkfifo", [join(root, "b", "plugin.mjs")]);
    const { skills } = await loadSkills([root]);
    expect(skills.map(({ plugin }) => plugin)).toEqual([join(root, "a/plugin/index.mjs"), null]);
  });

  test("skill.md in small letters loads with a warning; hidden folders and node_modules are not searched", async () => {
    const text = skillText("x");
    const root = await skillFolder({ "x/skill.md": text, ".git/y/SKILL.md": text, "node_modules/z/SKILL.md": text });
    expect(await namesIn(root)).toEqual(["x"]);
    expect(await findings(root)).toEqual(["x/skill.md skill.file-name"]);
  });

  test("a file over 1 MiB and a SKILL.md that is a folder are reported, and the others load", async () => {
    const root = await skillFolder({
      "big/SKILL.md": skillText("big", "", "x".repeat(1024 * 1024)),
      "dir/SKILL.md/x": "",
      "good/SKILL.md": skillText("good"),
    });
    expect(await namesIn(root)).toEqual(["good"]);
    expect(await findings(root)).toEqual(["big/SKILL.md skill.file-too-large", "dir/SKILL.md skill.no-file"]);
  });

  test("a root that is not there is reported", async () => {
    const root = join(await temporaryFolder(), "nothing");
    expect((await loadSkills([root])).diagnostics).toMatchObject([{ path: root, code: "skill.no-folder" }]);
    expect(await checkSkills([root])).toMatchObject([{ path: root, verdict: "skip", loaded: false }]);
  });

  test("where other programs keep skills there need not be any; what is there is read", async () => {
    const home = await temporaryFolder();
    const roots = [join(home, "skills"), join(home, ".agents/skills")];
    await writeFiles(home, { "skills/a/SKILL.md": skillText("a") });
    expect(await loadSkills(roots)).toMatchObject({ skills: [{ name: "a" }], diagnostics: [] });
    expect(await checkSkills(roots)).toHaveLength(1);
    await writeFiles(home, { ".agents/skills/a/SKILL.md": skillText("a", "license: MIT", "Theirs.") });
    expect(await loadSkills(roots)).toMatchObject({
      skills: [{ name: "a", body: "\nTheirs.\n" }],
      diagnostics: [{ code: "skill.name-taken" }],
    });
  });

  test("one file found through two roots is one skill", async () => {
    const root = await skillFolder({ "a/SKILL.md": skillText("a") });
    const set = await loadSkills([root, join(root, "a")]);
    expect(set).toMatchObject({ skills: [{ name: "a" }], diagnostics: [] });
  });
});

describe("precedence", () => {
  test("a later root goes before a higher version, and that before path order", async () => {
    const shipped = await skillFolder({ "a/SKILL.md": skillText("a", "version: 9.0.0"), "b/SKILL.md": skillText("b") });
    const own = await skillFolder({
      "a/SKILL.md": skillText("a", "version: 1.2.0"),
      "a-10/SKILL.md": skillText("a", "version: 1.10.0"),
      "a-9/SKILL.md": skillText("a", "version: 1.9.0"),
    });
    const { skills, diagnostics } = await loadSkills([shipped, own]);
    expect(skills.map(({ path }) => path)).toEqual([join(shipped, "b/SKILL.md"), join(own, "a-10/SKILL.md")]);
    const losers = diagnostics.map(({ path }) => path).sort();
    expect(losers).toEqual([join(own, "a-9/SKILL.md"), join(own, "a/SKILL.md"), join(shipped, "a/SKILL.md")].sort());
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["skill.name-taken"]));
  });

  test("versions are compared by number, previews come before their release, none comes before any", () => {
    const ascending = [null, "0.9", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0", "v1.2", "1.10.0"];
    for (const [index, version] of ascending.entries()) {
      for (const later of ascending.slice(index + 1)) {
        expect(compareVersions(later, version)).toBeGreaterThan(0);
        expect(compareVersions(version, later)).toBeLessThan(0);
      }
    }
    expect(compareVersions("1.0", "1.0.0")).toBe(0);
  });

  test("requirements are met by name and by folder name; what needs a missing skill goes too, in a chain", async () => {
    const root = await skillFolder({
      "a/SKILL.md": skillText("a", "requires: [b, folder]"),
      "b/SKILL.md": skillText("b", "danger_patterns: [kept]"),
      "folder/SKILL.md": skillText("other"),
      "x/SKILL.md": skillText("x", "requires: [y]\ndanger_patterns: [gone]"),
      "y/SKILL.md": skillText("y", "requires: [z]"),
      "self/SKILL.md": skillText("self", "requires: [self]"),
      "on-circle/SKILL.md": skillText("on-circle", "requires: [self]"),
    });
    const set = await loadSkills([root]);
    expect(set.skills.map(({ name }) => name)).toEqual(["a", "b", "other"]);
    expect(gateRules(set).rules.map(({ pattern }) => pattern)).toEqual(["kept"]);
    const errors = set.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ path, code }) => `${relative(root, path)} ${code}`).sort()).toEqual([
      "on-circle/SKILL.md skill.requires-missing",
      "self/SKILL.md skill.requires-circular",
      "x/SKILL.md skill.requires-missing",
      "y/SKILL.md skill.requires-missing",
    ]);
  });

  test("two skills with one tool: a warning names both", async () => {
    const tools = "tools: [{ name: look }]";
    const root = await skillFolder({ "a/SKILL.md": skillText("a", tools), "b/SKILL.md": skillText("b", tools) });
    const { diagnostics } = await loadSkills([root]);
    expect(diagnostics).toMatchObject([{ path: join(root, "a/SKILL.md"), code: "skill.tool-taken" }]);
    expect(diagnostics[0]?.message).toMatch(/look.*\bb\b.*comes after a/);
  });
});

describe("rules for the gate", () => {
  test("a pattern that names a repaired tool holds for both names", async () => {
    const fields =
      'tools: [{ name: my.tool }]\ndanger_patterns: ["^my\\\\.tool .*x", "other"]\nconfirm_patterns: ["my.tool"]';
    const root = await skillFolder({ "a/SKILL.md": skillText("a", fields) });
    const patterns = gateRules(await loadSkills([root])).rules.map(({ kind, pattern }) => `${kind} ${pattern}`);
    expect(patterns).toEqual([
      "danger ^my\\.tool .*x",
      "danger other",
      "confirm my.tool",
      "danger ^my_tool .*x",
      "confirm my_tool",
    ]);
  });

  test("shell parameters of all skills that have the tool count", async () => {
    const tool = (parameter: string) =>
      `tools: [{ name: run, parameters: { ${parameter}: { type: string, format: shell } } }]`;
    const root = await skillFolder({
      "a/SKILL.md": skillText("a", tool("one")),
      "b/SKILL.md": skillText("b", tool("two")),
    });
    expect(gateRules(await loadSkills([root])).shellParameters).toEqual(new Map([["run", ["one", "two"]]]));
  });
});
