/** The commands about skills and their rules. Their code is loaded only if they are called. */
import { type Command, Option } from "commander";

export function addSkillCommands(program: Command, root: string): void {
  const skills = program.command("skills").description("list, check, create, add, update and remove skills");

  skills
    .command("check")
    .argument("[folders...]", "skills folders; default: the configured ones")
    .option("--json", "print one JSON array instead of text")
    .description("check every SKILL.md, and run its gate_tests")
    .action(async (folders: string[], options) =>
      (await import("../skills.ts")).checkSkillsCommand(process.env, root, folders, options),
    );

  skills
    .command("list")
    .option("--conversation <id>", "show which skills this conversation or channel may use")
    .option("--json", "print one JSON array instead of text")
    .description("list the loaded skills with their tools, patterns and files")
    .action(async (options) => (await import("../skills-list.ts")).listSkillsCommand(process.env, root, options));

  skills
    .command("new")
    .argument("[name]", "lower-case letters, digits and single hyphens; asked on a terminal")
    .option("--description <text>", "what it does, and when to use it")
    .option("--triggers <words...>", "words that call for it")
    .option("--instructions <text>", "what the model should do; without it, the skill has a skeleton to fill in")
    .option("--tool", "create a working example with code instead")
    .description("create a skill in the workspace; on a terminal, asks what it should do, and lets the model write it")
    .action(async (name: string | undefined, options) =>
      (await import("../skills-new.ts")).newSkillCommand(process.env, root, name, options),
    );

  skills
    .command("add")
    .argument("<source>", "a folder, or the address of a git repository (https, ssh or file)")
    .option("--skill <names...>", "add these skills of the source")
    .option("--all", "add all skills of the source")
    .option("--yes", "do not ask; refused for a skill with declarations that a person must read")
    .option("--force", "replace a skill of the same name; keeps a backup of one in the workspace")
    .description("show what skills may do, then copy them into the workspace; runs none of their code")
    .action(async (source: string, options) =>
      (await import("../skills-add.ts")).addSkillsCommand(process.env, root, source, options),
    );

  skills
    .command("update")
    .argument("[names...]", "skills that were added with skills add; default: all of them")
    .option("--yes", "do not ask; refused if a new version may do more than the old one")
    .description("fetch skills again from where they came from, and show what differs before replacing them")
    .action(async (names: string[], options) =>
      (await import("../skills-update.ts")).updateSkillsCommand(process.env, root, names, options),
    );

  skills
    .command("remove")
    .argument("<name>", "a skill in the workspace")
    .option("--yes", "do not ask")
    .description("take a skill out of the workspace; keeps a backup")
    .action(async (name: string, options) =>
      (await import("../skills-remove.ts")).removeSkillCommand(process.env, root, name, options),
    );

  for (const [verb, isOn] of [
    ["enable", true],
    ["disable", false],
  ] as const)
    skills
      .command(verb)
      .argument("<name>", "a skill's name")
      .description(isOn ? "turn a skill on again" : "turn a skill off for everybody; its rules still apply")
      .action(async (name: string) =>
        (await import("../skills-switch.ts")).switchSkillCommand(process.env, root, name, isOn),
      );

  const gate = program.command("gate").description("the safety gate");

  gate
    .command("test")
    .argument("[command...]", "a shell command, in quotes; without it, JSON lines are read from standard input")
    .option("--tool <name>", "the tool that gets the command; default: shell_exec")
    .option("--skills <folders...>", "skills folders whose patterns apply; default: the configured ones")
    .addOption(new Option("--matching <mode>", "how patterns are matched").choices(["exact", "extended"]))
    .option("--json", "print one JSON line per call instead of text")
    .description("say what the gate decides about a command, or about calls as JSON lines {tool,args}")
    .action(async (words: string[], options) =>
      (await import("../gate.ts")).gateTestCommand(process.env, root, words, options),
    );
}
