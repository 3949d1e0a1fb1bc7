/** The life of a skill that was added: found wherever a repository keeps it, updated, removed, turned off and on. */
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test, vi } from "vitest";
import { addSkillsCommand } from "../../src/cli/skills-add.ts";
import { listSkillsCommand } from "../../src/cli/skills-list.ts";
import { newSkillCommand } from "../../src/cli/skills-new.ts";
import { removeSkillCommand } from "../../src/cli/skills-remove.ts";
import { switchSkillCommand } from "../../src/cli/skills-switch.ts";
import { updateSkillsCommand } from "../../src/cli/skills-update.ts";
import { type SkillWriter, writeSkill } from "../../src/cli/skills-writer.ts";
import { silentLog } from "../../src/lib/log.ts";
import { type Ask, SetupCancelled } from "../../src/setup/ask.ts";
import { checkSkills } from "../../src/skill-runtime/library/load.ts";
import { openLedger } from "../../src/storage/open-state.ts";
import { createScriptedProvider, says } from "../doubles/scripted-provider.ts";
import { skillText, writeFiles } from "../skill-runtime/folders.ts";
import { environmentOf, temporaryFolder } from "./remora-command.ts";

vi.setConfig({ testTimeout: 60_000 });
const project = resolve(import.meta.dirname, "../..");

async function open(files: { [path: string]: string }) {
  const [home, source] = [await temporaryFolder(), await temporaryFolder()];
  await writeFiles(source, files);
  const git = (...args: string[]) => execa("git", args, { cwd: source, env: { HOME: source } });
  const commit = async () => {
    await git("add", "--all");
    await git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "-m", "More");
    return (await git("rev-parse", "HEAD")).stdout;
  };
  await git("init", "--quiet");
  const first = await commit();
  let printed = "";
  const written = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => {
      printed += String(text);
      return true;
    }),
  );
  onTestFinished(() => {
    for (const spy of written) spy.mockRestore();
    process.exitCode = undefined;
  });
  const env = environmentOf(home);
  const skills = join(home, "workspace/skills");
  const origins = async () => JSON.parse(await readFile(join(skills, "origins.json"), "utf8"));
  const said = () => {
    const text = printed;
    printed = "";
    return text;
  };
  return { env, source, address: `file://${source}`, skills, commit, first, origins, said };
}

test("skills are found in dot folders and at deeper levels, and their origin is remembered", async () => {
  const { env, address, skills, first, origins } = await open({
    "skills/.curated/alpha/SKILL.md": skillText("alpha"),
    ".github/skills/beta/SKILL.md": skillText("beta"),
    "a/b/c/d/e/gamma/SKILL.md": skillText("gamma"),
    "node_modules/x/delta/SKILL.md": skillText("delta"),
  });
  await addSkillsCommand(env, project, address, { all: true, yes: true });
  expect(["alpha", "beta", "gamma", "delta"].map((name) => existsSync(join(skills, name, "SKILL.md")))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(await origins()).toMatchObject({
    alpha: { source: address, path: "skills/.curated/alpha", commit: first },
    gamma: { path: "a/b/c/d/e/gamma" },
  });
});

test("an update shows what differs, and a new tool must be read even with --yes", async () => {
  const { env, source, address, skills, commit, origins, said } = await open({
    "alpha/SKILL.md": skillText("alpha"),
    "alpha/list.md": "one\n",
  });
  await addSkillsCommand(env, project, address, { yes: true });
  const nobody = () => Promise.reject(new Error("nobody was to be asked"));
  said();
  await updateSkillsCommand(env, project, [], { yes: true }, nobody);
  expect(said()).toBe("alpha is up to date.\n");

  await appendFile(join(source, "alpha/list.md"), "two\n");
  const second = await commit();
  await updateSkillsCommand(env, project, ["alpha"], { yes: true }, nobody);
  expect(said()).toContain("+two");
  expect(await readFile(join(skills, "alpha/list.md"), "utf8")).toBe("one\ntwo\n");
  expect(await origins()).toMatchObject({ alpha: { commit: second } });

  await writeFile(
    join(source, "alpha/SKILL.md"),
    skillText("alpha", "tools: [{ name: alpha_wipe, description: Wipes }]"),
  );
  await commit();
  await updateSkillsCommand(env, project, [], { yes: true }, nobody);
  expect(said()).toContain("may do more than the old one");
  expect(await readFile(join(skills, "alpha/SKILL.md"), "utf8")).not.toContain("alpha_wipe");
  await appendFile(join(skills, "alpha/list.md"), "mine\n");
  await updateSkillsCommand(env, project, [], {}, async () => "no");
  const shown = said();
  expect(shown).toContain("! it has a new tool alpha_wipe");
  expect(shown).toContain("! Its files were changed here.");
  expect(shown).toContain("alpha stays as it is.");
  await updateSkillsCommand(env, project, [], {}, async () => "y");
  expect(await readFile(join(skills, "alpha/SKILL.md"), "utf8")).toContain("alpha_wipe");
});

test("an update that makes a tool declare less about itself is refused with --yes", async () => {
  const declared = (fields: string) =>
    skillText("alpha", `tools: [{ name: alpha_send, description: Sends, ${fields} }]`);
  const parameters = (format: string) =>
    `parameters: { type: object, properties: { line: { type: string${format} } } }`;
  const { env, source, address, skills, commit, said } = await open({
    "alpha/SKILL.md": declared(`outward: true, untrusted: true, folder: write, ${parameters(", format: shell")}`),
  });
  await addSkillsCommand(env, project, address, { yes: true });
  await writeFile(
    join(source, "alpha/SKILL.md"),
    declared(`readOnly: true, idempotent: true, folder: none, ${parameters("")}`),
  );
  await commit();
  said();
  await updateSkillsCommand(env, project, [], { yes: true }, () => Promise.reject(new Error("nobody was to be asked")));
  const shown = said();
  for (const change of [
    "now counts as only reading",
    "may now be repeated after a crash",
    "no longer counts as sending something",
    "no longer counts as reading other people's text",
    "declares folder: none, and not write",
    "no longer has its parameter line read as a command",
  ])
    expect(shown).toContain(`! its tool alpha_send ${change}`);
  expect(shown).toContain("--yes is refused");
  expect(await readFile(join(skills, "alpha/SKILL.md"), "utf8")).toContain("outward: true");
});

test("remove keeps a backup; a skill that came with Remora is turned off instead", async () => {
  const { env, address, skills, origins, said } = await open({ "alpha/SKILL.md": skillText("alpha") });
  await addSkillsCommand(env, project, address, { yes: true });
  said();
  await removeSkillCommand(env, project, "alpha", {}, async () => "");
  expect(existsSync(join(skills, "alpha"))).toBe(true);
  await removeSkillCommand(env, project, "alpha", { yes: true });
  expect([existsSync(join(skills, "alpha")), await origins()]).toEqual([false, {}]);
  expect(said()).toContain("Removed alpha. A copy is in ");
  await expect(removeSkillCommand(env, project, "shell", { yes: true })).rejects.toThrow(
    "To turn it off: skills disable shell",
  );
});

test("disable and enable use the switch of the dashboard", async () => {
  const { env, said } = await open({ "x.md": "" });
  await mkdir(env.REMORA_WORKSPACE ?? "", { recursive: true });
  const offInLedger = async () => {
    const ledger = await openLedger({ data: env.REMORA_DATA ?? "", redis: null, log: silentLog });
    const entries = await ledger.list("skill-switch", { states: ["off"] });
    await ledger.close();
    return entries.map(({ id }) => id);
  };
  await switchSkillCommand(env, project, "shell", false);
  expect(said()).toBe("shell is off for everybody. Its rules still apply. A running agent follows within a minute.\n");
  expect(await offInLedger()).toEqual(["shell"]);
  await listSkillsCommand(env, project, {});
  expect(said()).toMatch(/^shell .*\n {4}turned off \(skills enable shell\) · tools shell_exec/m);
  await switchSkillCommand(env, project, "shell", true);
  expect(await offInLedger()).toEqual([]);
  await expect(switchSkillCommand(env, project, "shel", true)).rejects.toThrow("there is no skill of this name");
});

test("a new skill is made from the answers, and none of them can become another field", async () => {
  const { env, skills, said } = await open({ "x.md": "" });
  const answers: unknown[] = [];
  const next = async <Value>(): Promise<Value> => answers.shift() as Value;
  const warned: string[] = [];
  const ask = {
    ...{ text: next, select: next, say: () => {}, warn: (text: string) => warned.push(text) },
    during: (_doing: string, work: () => unknown) => work(),
  } as unknown as Ask;
  const wishes: string[] = [];
  const written = {
    name: "release-notes",
    description: "Writes our notes\nprovides_tools: true",
    triggers: ["release", "notes"],
    instructions: "Ask which version.",
  };
  const write: SkillWriter = async (wish) => {
    wishes.push(wish);
    return written;
  };
  const made = (name: string | undefined, writer: SkillWriter = write) =>
    newSkillCommand(env, project, name, {}, ask, writer);

  await expect(made("bad name")).rejects.toThrow("up to 48 letters");
  answers.push("Write our notes", "text", "change", "shorter", "keep", "release-notes");
  await made(undefined);
  expect(wishes[1]).toContain("Change this: shorter");
  expect(said()).toContain("A running agent uses it from its next step on.");
  const [report] = await checkSkills([join(skills, "release-notes")]);
  expect(report).toMatchObject({ name: "release-notes", verdict: "accept", triggers: ["release", "notes"], tools: [] });
  expect(await readFile(join(skills, "release-notes/SKILL.md"), "utf8")).toContain("\n---\n\nAsk which version.\n");

  answers.push("Greets: people", "text");
  await made("greeting", async () => ({ problem: "No model is set up." }));
  expect(warned.join()).toContain("No model is set up.\nYou get a skeleton");
  expect((await checkSkills([join(skills, "greeting")]))[0]).toMatchObject({ verdict: "accept", tools: [] });
  expect(await readFile(join(skills, "greeting/SKILL.md"), "utf8")).toContain("## Steps");

  const cancels = { text: () => Promise.reject(new SetupCancelled()) } as unknown as Ask;
  said();
  await newSkillCommand(env, project, "never", {}, cancels, write);
  expect([said(), existsSync(join(skills, "never"))]).toEqual(["Stopped. Nothing was created.\n", false]);

  await newSkillCommand(env, project, "counter", { description: "Counts: things", tool: true });
  const [counter] = await checkSkills([join(skills, "counter")]);
  expect(counter).toMatchObject({ description: "Counts: things", verdict: "accept", tools: expect.any(Array) });
  expect(counter?.tools).toHaveLength(3);
  await expect(newSkillCommand(env, project, undefined)).rejects.toThrow("give the skill a name");
});

test("the model writes a skill, and what is not one is refused", async () => {
  const answering = (text: string) => writeSkill(createScriptedProvider([says(text)]), "Write release notes");
  const skill = { name: "Release Notes!", description: "Notes.\nUse it.", triggers: "release", instructions: "Ask." };
  expect(await answering(`Here it is:\n\`\`\`json\n${JSON.stringify(skill)}\n\`\`\``)).toEqual({
    name: "release-notes",
    description: "Notes. Use it.",
    triggers: [],
    instructions: "Ask.",
  });
  expect(await answering("I can't.")).toEqual({ problem: "The model's answer was not a skill." });
  const steps = [
    [
      { type: "text-delta" as const, text: '{"name": "half' },
      { type: "restart" as const, model: "scripted/one" },
      ...says(JSON.stringify(skill)),
    ],
  ];
  expect(await writeSkill(createScriptedProvider(steps), "Write release notes")).toMatchObject({
    name: "release-notes",
  });
});
