/** `remora skills add`: from a folder and from a git repository; nothing half, nothing run, nothing hidden. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { describe, expect, test, vi } from "vitest";
import { addSkillsCommand } from "../../src/cli/skills-add.ts";
import { skillText, writeFiles } from "../skill-runtime/folders.ts";
import { environmentOf, remora, temporaryFolder } from "./remora-command.ts";
import { remoraHere } from "./remora-here.ts";

vi.setConfig({ testTimeout: 60_000 });

const project = resolve(import.meta.dirname, "../..");

/** A home, a folder for what is to be added, and the command with `--yes`. */
async function open(files: { [path: string]: string } = {}) {
  const home = await temporaryFolder();
  const source = await temporaryFolder();
  await writeFiles(source, files);
  const skills = join(home, "workspace/skills");
  return {
    home,
    source,
    skills,
    add: (...given: string[]) => remoraHere(home, "skills", "add", "--yes", ...given),
    addAsProcess: (...given: string[]) => remora(home, "skills", "add", "--yes", ...given),
    visible: async () => (await readdir(skills)).filter((name) => !name.startsWith(".") && name !== "origins.json"),
  };
}

/** Makes a repository of the folder; its address. */
async function repositoryIn(folder: string): Promise<string> {
  const git = (...args: string[]) => execa("git", args, { cwd: folder, env: { HOME: folder } });
  await git("init", "--quiet");
  await git("add", "--all");
  await git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "-m", "All of it");
  return `file://${folder}`;
}

const alpha = { "alpha/SKILL.md": skillText("alpha"), "alpha/notes/list.md": "a list" };

describe("from a folder", () => {
  test("a skill is copied whole, and in force", async () => {
    const { addAsProcess, source, skills, home } = await open(alpha);
    const { code, stdout, stderr } = await addAsProcess(join(source, "alpha"));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("alpha — What alpha does\n  2 files, 1 KiB\n");
    expect(await readFile(join(skills, "alpha/notes/list.md"), "utf8")).toBe("a list");
    expect((await stat(join(skills, "alpha"))).mode & 0o777).toBe(0o755);
    expect((await remoraHere(home, "skills", "list")).stdout).toContain("alpha — ");
    expect(await readdir(skills)).toEqual(["alpha", "origins.json"]);
  });

  test("of several skills some are chosen by name, or all are taken; else nothing is", async () => {
    const files = {
      ...alpha,
      "beta/SKILL.md": skillText("beta", "requires: [alpha]"),
      "c/SKILL.md": skillText("gamma"),
    };
    const { add, source, visible } = await open(files);
    expect(await add(source)).toMatchObject({ code: 1, stderr: expect.stringContaining("alpha, beta, gamma") });
    expect(await add(source, "--skill", "nope")).toMatchObject({ code: 1, stderr: expect.stringContaining("nope") });
    expect(await visible()).toEqual([]);
    expect(await add(source, "--skill", "beta")).toMatchObject({ code: 1, stderr: expect.stringContaining("alpha") });
    expect(await add(source, "--skill", "alpha", "c")).toMatchObject({ code: 0 });
    expect(await visible()).toEqual(["alpha", "gamma"]);
    const other = await open(files);
    expect(await other.add(other.source, "--all")).toMatchObject({ code: 0 });
    expect(await other.visible()).toEqual(["alpha", "beta", "gamma"]);
  });

  test("what the skill may do is shown, without anything that moves a terminal", async () => {
    const fields = `tools:
  - { name: shell_exec, description: "Runs \\e[31mthings" }
danger_patterns: [mkfs]
confirm_patterns: ['^act ']`;
    const { add, source, visible } = await open({
      "bad/SKILL.md": skillText("bad", fields),
      "bad/plugin.mjs":
        "import { writeFileSync } from 'node:fs'; writeFileSync(new URL('ran', import.meta.url), ''); export default {};",
      "bad/scripts/run": "#!/bin/sh\n",
    });
    await chmod(join(source, "bad/scripts/run"), 0o755);
    const { code, stdout, stderr } = await add(source);
    expect(code).toBe(1);
    expect(stdout).toContain("  Tools:\n    shell_exec: Runs [31mthings\n");
    expect(stdout).toContain("  Blocks calls that match:\n    mkfs\n  Asks about calls that match:\n    ^act\n");
    expect(stdout).toContain("! Has a plugin: its code runs in its own process");
    expect(stdout).toContain("  Code files:\n    plugin.mjs\n    scripts/run\n");
    expect(stderr).toContain("Its tool shell_exec replaces the tool of the skill shell");
    expect(stdout + stderr).not.toContain("\u001b");
    expect(await visible()).toEqual([]);
    expect(await add(source, "--force")).toMatchObject({ code: 0 });
    expect(await visible()).toEqual(["bad"]);
    expect(existsSync(join(source, "bad/ran"))).toBe(false);
  });
});

describe("from a git repository", () => {
  test("it is cloned without running anything, also what the person's own git would run at a checkout", async () => {
    const { addAsProcess, source, skills, home } = await open({ "skills/alpha/SKILL.md": skillText("alpha") });
    const ran = join(home, "ran");
    const hook = `#!/bin/sh\ntouch ${ran}\n`;
    await writeFiles(home, {
      ".gitconfig": `[init]\n\ttemplateDir = ${home}/template\n[core]\n\thooksPath = ${home}/hooks\n`,
      "template/hooks/post-checkout": hook,
      "hooks/post-checkout": hook,
    });
    for (const folder of ["template/hooks", "hooks"]) await chmod(join(home, folder, "post-checkout"), 0o755);
    const url = await repositoryIn(source);
    await execa("git", ["clone", "--quiet", url, join(home, "clone")], { env: { HOME: home } });
    expect(existsSync(ran)).toBe(true);
    await rm(ran);
    const { code, stdout } = await addAsProcess(url);
    expect(code).toBe(0);
    expect(stdout).toContain(`From ${url}:`);
    expect(await readdir(join(skills, "alpha"))).toEqual(["SKILL.md"]);
    expect(existsSync(ran)).toBe(false);
  });

  test("also one that is a skill itself, and one that keeps them where other programs look", async () => {
    const { add, source, skills } = await open({ "SKILL.md": skillText("whole"), "a/b.md": "text" });
    expect(await add(await repositoryIn(source))).toMatchObject({ code: 0 });
    expect((await readdir(join(skills, "whole"))).sort()).toEqual(["SKILL.md", "a"]);
    const other = await open({ ".claude/skills/hidden/SKILL.md": skillText("hidden"), "README.md": "x" });
    expect(await other.add(await repositoryIn(other.source))).toMatchObject({ code: 0 });
    expect(await other.visible()).toEqual(["hidden"]);
  });

  test("also a bare one on this machine, by its path", async () => {
    const { add, source, home, visible } = await open(alpha);
    const bare = join(home, "alpha.git");
    await execa("git", ["clone", "--quiet", "--bare", await repositoryIn(source), bare], { env: { HOME: home } });
    expect(await add(bare)).toMatchObject({ code: 0 });
    expect(await visible()).toEqual(["alpha"]);
  });

  test.each(["http://localhost/x", "git://localhost/x", "ext::sh -c id", "ftp://localhost/x"])(
    "the address %s is refused",
    async (address) => {
      const { add, visible, home } = await open();
      expect(await add(address)).toMatchObject({ code: 1, stderr: expect.stringContaining("not supported") });
      expect(await visible().catch(() => [])).toEqual([]);
      expect(await readdir(home)).toEqual([]);
    },
  );

  test("one that is not there is said, without the password that its address has", async () => {
    const { add } = await open();
    const { code, stderr } = await add("file://ann:hunter22@/no/such/repository");
    expect(code).toBe(1);
    expect(stderr).toContain("could not be cloned");
    expect(stderr).not.toContain("hunter22");
  });
});

describe("what is refused", () => {
  test.each([
    ["a link out of the folder", async (folder: string) => symlink("/etc/hostname", join(folder, "alpha/link"))],
    ["a link to nowhere", async (folder: string) => symlink("nowhere", join(folder, "alpha/link"))],
    ["a link above it", async (folder: string) => symlink("..", join(folder, "alpha/link"))],
    ["a pipe", async (folder: string) => void (await execa("mkfifo", [join(folder, "alpha/pipe")]))],
    [
      "more than 20 MiB",
      async (folder: string) => writeFile(join(folder, "alpha/big"), Buffer.alloc(21 * 1024 * 1024)),
    ],
    [
      "more than 500 files",
      async (folder: string) => {
        for (let index = 0; index < 501; index += 1) await writeFile(join(folder, `alpha/${index}.md`), "");
      },
    ],
    [
      "folders without end",
      async (folder: string) => void (await mkdir(join(folder, "alpha", "d/".repeat(12)), { recursive: true })),
    ],
  ])("%s: nothing of the skill stays", async (_what, spoil) => {
    const { add, source, skills } = await open(alpha);
    await spoil(source);
    const { code, stderr } = await add(source);
    expect([code, stderr]).toEqual([1, expect.stringContaining("this skill can't be added")]);
    expect(await readdir(skills)).toEqual([]);
  });

  test("links inside the folder become what they lead to", async () => {
    const { add, source, skills } = await open(alpha);
    await symlink("notes/list.md", join(source, "alpha/link.md"));
    expect(await add(source)).toMatchObject({ code: 0 });
    expect((await stat(join(skills, "alpha/link.md"))).isFile()).toBe(true);
  });

  test("a folder without a skill that loads, with the reason; and one that is not there", async () => {
    const { add, source } = await open({ "x/SKILL.md": "no frontmatter" });
    expect(await add(source)).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no frontmatter") });
    expect(await add(join(source, "nope"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no such folder"),
    });
  });

  test("a name that is taken; with --force what was there is kept as a backup", async () => {
    const { add, source, skills, visible } = await open(alpha);
    await add(source);
    await writeFile(join(source, "alpha/SKILL.md"), skillText("alpha", "version: 2.0.0"));
    expect(await add(source)).toMatchObject({ code: 1, stderr: expect.stringContaining("would replace") });
    expect(await readFile(join(skills, "alpha/SKILL.md"), "utf8")).not.toContain("2.0.0");
    expect(await add(source, "--force")).toMatchObject({ code: 0 });
    expect(await readFile(join(skills, "alpha/SKILL.md"), "utf8")).toContain("2.0.0");
    expect(await visible()).toEqual(["alpha"]);
    const [backup = ""] = await readdir(join(skills, ".backup"));
    expect(await readFile(join(skills, ".backup", backup, "SKILL.md"), "utf8")).not.toContain("2.0.0");
  });

  test("one in place of a shipped skill, which would lose its patterns", async () => {
    const { add, source } = await open({ "shell/SKILL.md": skillText("shell") });
    expect((await add(source)).stderr).toMatch(/skill shell at .*its \d+ patterns would no longer apply/);
  });
});

describe("the question", () => {
  test("is asked on a terminal alone; anything but yes adds nothing", async () => {
    const { home, source, visible, skills } = await open(alpha);
    const { code, stderr } = await remora(home, "skills", "add", source);
    expect([code, stderr]).toEqual([1, expect.stringContaining("--yes")]);
    const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const before = process.exitCode;
    const ask = async (answer: string) => {
      const asked: string[] = [];
      await addSkillsCommand(environmentOf(home), project, source, {}, async (question) => {
        asked.push(question);
        return answer;
      });
      expect(asked).toEqual(["Add this skill? [y/N] "]);
    };
    for (const answer of ["", "n", "no", "yy", "sure"]) {
      await ask(answer);
      expect([await visible(), process.exitCode]).toEqual([[], 1]);
      process.exitCode = before;
    }
    await ask(" Y ");
    written.mockRestore();
    expect(await readdir(skills)).toEqual(["alpha", "origins.json"]);
  });
});

describe("what a plugin declares", () => {
  const plugin = { "alpha/plugin.mjs": "export default { execute: () => 'done' };" };
  const declaring = (fields: string) => ({ "alpha/SKILL.md": skillText("alpha", fields), ...plugin });
  const permissions = "permissions: { files: write, network: [example.com], env: [TOKEN], commands: true, chat: true }";

  test("is shown, a line each", async () => {
    const { add, source } = await open(declaring(permissions));
    const { stdout } = await add(source);
    for (const line of [
      "reads and changes files of the working folder",
      "reaches example.com",
      "gets the variables TOKEN of this installation",
      "runs programs",
      "reads and writes in the chat",
    ])
      expect(stdout).toContain(`    ${line}\n`);
  });

  test.each([
    ["permissions", permissions, "its plugin reaches example.com"],
    ["more tools", "provides_tools: true", "its plugin offers more tools while it runs"],
    ["a part of every message", "triggers: ['*']", "its text is part of every prompt"],
  ])("%s: --yes is refused, because nobody has seen it", async (_what, fields, expected) => {
    const { add, source, visible } = await open(declaring(fields));
    const { code, stderr } = await add(source);
    expect([code, stderr]).toEqual([1, expect.stringContaining("--yes is refused")]);
    expect(stderr).toContain(expected);
    expect(await visible()).toEqual([]);
  });

  test("nothing: --yes is enough", async () => {
    const { add, source, visible } = await open(declaring(""));
    expect((await add(source)).stdout).toContain("in its own process and may only compute and keep its own data");
    expect(await visible()).toEqual(["alpha"]);
  });
});
