import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { loadSkillSpec, runLoadSkill } from "../../src/skill-runtime/library/load-skill.ts";
import { skillFolder, skillText } from "./folders.ts";

async function openSkill(files: { [path: string]: string | Uint8Array } = {}) {
  const root = await skillFolder({ "demo/SKILL.md": skillText("demo", "", "# How to\n\nDo it."), ...files });
  const { skills } = await loadSkills([root]);
  return {
    root,
    load: (name: string, file?: string) => runLoadSkill({ name, ...(file === undefined ? {} : { file }) }, skills),
  };
}

describe("load_skill", () => {
  test("changes nothing and asks nothing", () => {
    expect(loadSkillSpec).toMatchObject({ name: "load_skill", isReadOnly: true, isIdempotent: true, skill: "remora" });
  });

  test("gives the body without frontmatter, the folder and the bundled files", async () => {
    const { root, load } = await openSkill({
      "demo/docs/more.md": "m",
      "demo/a.py": "",
      "demo/.hidden": "",
      "demo/node_modules/x": "",
    });
    const { isOk, text } = await load("demo");
    expect(isOk).toBe(true);
    expect(text).toContain("# How to\n\nDo it.");
    expect(text).toContain(`Folder: ${join(root, "demo")}`);
    expect(text).toMatch(/Bundled files .*: a\.py, docs\/more\.md\n/);
    expect(text).not.toContain("description:");
  });

  test("names no folder if there is nothing to read in it", async () => {
    const { load } = await openSkill({ "demo/.hidden": "" });
    expect((await load("demo")).text).toBe("# Skill demo\n\n# How to\n\nDo it.");
  });

  test("describes the tools that requests only name, or one of them, and none that requests define", async () => {
    const tools = (about: string) =>
      `tools:\n  - { name: act, description: "${about}", parameters: { place: { type: string, description: Where } } }\n  - { name: look, always: true, description: "${about}" }`;
    const small = await openSkill({ "acting/SKILL.md": skillText("acting", tools("Acts.")) });
    expect((await small.load("acting")).text).not.toContain("### ");
    const large = await openSkill({ "acting/SKILL.md": skillText("acting", tools("Acts. ".repeat(1_000))) });
    const { text } = await large.load("acting");
    expect(text).toMatch(/## Its tools, used with use_tool\n\n### act\nActs\. .*\n- place: string\. Where$/);
    expect(text).not.toContain("### look");
    expect(await large.load("act")).toMatchObject({ isOk: true, text: expect.stringMatching(/^### act\n/) });
    expect(await large.load("demo")).toMatchObject({ text: expect.not.stringContaining("### ") });
  });

  test("a skill with hundreds of tools lists them, and describes each by its name", async () => {
    const list = Array.from(
      { length: 300 },
      (_, index) => `  - { name: act_${index}, description: ${"Acts ".repeat(20)} }`,
    );
    const { load } = await openSkill({ "acting/SKILL.md": skillText("acting", `tools:\n${list.join("\n")}`) });
    const { text } = await load("acting");
    expect(text.length).toBeLessThan(35_000);
    for (const index of [0, 150, 299]) expect(text).toContain(`### act_${index}\n`);
    expect(text).toContain("### act_299\n(load_skill with this name describes it)");
    expect((await load("act_299")).text).toContain("Acts Acts");
  });

  test("finds a skill under its name and under its folder's", async () => {
    const { load } = await openSkill({ "folder-name/SKILL.md": skillText("own-name") });
    for (const name of ["own-name", "folder-name"]) expect((await load(name)).text).toContain("# Skill own-name");
  });

  test.each(["nothing", "", "../demo", "./demo", "demo/SKILL.md", "/etc", "__proto__", "constructor"])(
    "%j is no skill, and the answer says where the names are",
    async (name) => {
      const { load } = await openSkill();
      expect(await load(name)).toMatchObject({
        isOk: false,
        isRetryable: false,
        // load_skill is idempotent: only an answer is not tried three times more.
        isAnswer: true,
        text: expect.stringContaining("## Available skills"),
      });
    },
  );

  test("a body over 100 KB is cut between characters, with a note", async () => {
    const { load } = await openSkill({ "big/SKILL.md": skillText("big", "", "é".repeat(100_000)) });
    const { text } = await load("big");
    expect(Buffer.byteLength(text)).toBeLessThan(102_400);
    expect(text).not.toContain("\ufffd");
    expect(text).toMatch(/Cut here/);
  });

  test("reads one bundled file, cut at 100 KB with a note", async () => {
    const { load } = await openSkill({ "demo/docs/more.md": "More.", "demo/long.txt": "x".repeat(200_000) });
    expect(await load("demo", "docs/more.md")).toMatchObject({ isOk: true, text: "More." });
    expect(await load("demo", "./docs/../docs/more.md")).toMatchObject({ isOk: true, text: "More." });
    expect((await load("demo", "long.txt")).text).toMatch(/^x{100000}\n\n\(Cut here/);
  });

  test.each([
    "../other/secret.txt",
    "/etc/passwd",
    "link.txt",
    "linked/secret.txt",
    "docs",
    ".",
    "nothing.md",
    "a\0b",
    "x".repeat(5_000),
    "docs/more.md/x",
    ".env",
    "docs/../.git/config",
  ])("the file %.30j is not read", async (file) => {
    const { root, load } = await openSkill({
      ...{ "demo/docs/more.md": "", "other/secret.txt": "secret" },
      ...{ "demo/.env": "KEY=secret", "demo/.git/config": "url = https://secret@host" },
    });
    await symlink(join(root, "other/secret.txt"), join(root, "demo/link.txt"));
    await symlink(join(root, "other"), join(root, "demo/linked"));
    const { isOk, text } = await load("demo", file);
    expect(isOk).toBe(false);
    expect(text).toContain("has no file");
  });

  test("a file that is no text is named, not shown", async () => {
    const { load, root } = await openSkill();
    await writeFile(join(root, "demo/image.png"), Buffer.from([0x89, 0x50, 0, 1]));
    expect(await load("demo", "image.png")).toMatchObject({
      isOk: false,
      text: expect.stringContaining("not a text file"),
    });
  });
});
