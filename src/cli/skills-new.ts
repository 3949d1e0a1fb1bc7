/**
 * `remora skills new [NAME]` creates a skill in the workspace. On a terminal, it asks what the skill should do. The result is
 * instructions for the model, which the model itself writes if one is set up, or a working example with code.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import { type Ask, SetupCancelled } from "../setup/ask.ts";
import { askOnTerminal } from "../setup/ask-on-terminal.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { byAnyName } from "../skill-runtime/library/precedence.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";
import { exampleText, instructionsText, pluginText, type SkillContent } from "./skills-templates.ts";
import { modelWriter, type SkillWriter } from "./skills-writer.ts";

const cancelledExitCode = 130;
const maxNameCharacters = 48;
export const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export interface NewSkillOptions extends SkillContent {
  /** The example with code. So is a skill about which nothing is said. */
  tool?: boolean;
}

interface NewSkill extends SkillContent {
  name: string;
  hasCode: boolean;
}

type ProblemOfName = (name: string) => { code: string; message: string } | undefined;

/** `ask` is undefined without a terminal: then the name and the options say everything, and no model is asked. */
export async function newSkillCommand(
  env: Environment,
  root: string,
  given: string | undefined,
  options: NewSkillOptions = {},
  ask: Ask | undefined = terminal(),
  write: SkillWriter = modelWriter(env, root),
): Promise<void> {
  const settings = settingsFor(env, root);
  const { skills: known } = await loadSkills(skillRootsOf(settings));
  const skills = join(settings.workspace, "skills");
  const problemOf: ProblemOfName = (name) => {
    if (!skillName.test(name) || name.length > maxNameCharacters)
      return {
        code: "skills.name",
        message: "a skill's name has up to 48 letters a-z, digits and single hyphens, such as release-notes",
      };
    const other = byAnyName(known).get(name);
    if (other === undefined && !existsSync(join(skills, name))) return undefined;
    return {
      code: "skills.taken",
      message: `it already exists: ${other?.path ?? join(skills, name)}. Choose another name`,
    };
  };
  if (given !== undefined) requireName(given, problemOf);
  const skill =
    ask === undefined || Object.keys(options).length > 0
      ? fromOptions(given, options)
      : await interview(ask, given, problemOf, write).catch(unlessCancelled);
  if (skill === undefined) return;
  requireName(skill.name, problemOf);
  const folder = join(skills, skill.name);
  await create(skills, folder, skill);
  const shown = relative(process.cwd(), folder);
  const what = skill.hasCode
    ? "with SKILL.md and plugin.mjs. The example keeps a to-do list."
    : "with SKILL.md. A running agent uses it from its next step on.";
  process.stdout.write(`Created ${shown} ${what}\nEdit it, then run: npm run -s remora -- skills check ${shown}\n`);
}

/** Ctrl+C in a question. */
function unlessCancelled(thrown: unknown): undefined {
  if (!(thrown instanceof SetupCancelled)) throw thrown;
  process.stdout.write("Stopped. Nothing was created.\n");
  process.exitCode = cancelledExitCode;
}

function requireName(name: string, problemOf: ProblemOfName): void {
  const problem = problemOf(name);
  if (problem !== undefined) throw new RemoraError({ ...problem, place: `skills new ${name}` });
}

/** Uses a hidden folder first, so that a running agent never sees half a skill. */
async function create(skills: string, folder: string, { name, hasCode, ...content }: NewSkill): Promise<void> {
  await mkdir(skills, { recursive: true });
  const aside = await mkdtemp(join(skills, ".new-"));
  try {
    await writeFile(join(aside, "SKILL.md"), hasCode ? exampleText(name, content) : instructionsText(name, content));
    if (hasCode) await writeFile(join(aside, "plugin.mjs"), pluginText(name));
    await chmod(aside, 0o755);
    await rename(aside, folder);
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true });
    throw thrown;
  }
}

function terminal(): Ask | undefined {
  return process.stdin.isTTY && process.stdout.isTTY
    ? askOnTerminal({ input: process.stdin, output: process.stdout })
    : undefined;
}

function fromOptions(name: string | undefined, { tool, ...content }: NewSkillOptions): NewSkill {
  if (name === undefined)
    throw new RemoraError({
      code: "skills.name",
      place: "skills new",
      message: "give the skill a name, such as release-notes",
    });
  return { name, ...content, hasCode: tool ?? (content.description ?? content.instructions) === undefined };
}

async function interview(
  ask: Ask,
  given: string | undefined,
  problemOf: ProblemOfName,
  write: SkillWriter,
): Promise<NewSkill> {
  const wish = await ask.text({
    message: "What should the skill do, and when? Write it as you would tell a colleague.",
    flag: "--description",
    initial: "",
    problemOf: (text) => (text.trim() === "" ? "Write a sentence." : undefined),
  });
  const kind = await ask.select({
    message: "What does it need?",
    flag: "--tool",
    choices: [
      { value: "text" as const, label: "Instructions", hint: "it uses the tools that Remora has" },
      { value: "tool" as const, label: "A new tool with code", hint: "a working example that you change" },
    ],
  });
  const written = kind === "text" ? await draft(ask, wish, write) : { description: wish };
  const name =
    given ??
    (await ask.text({
      message: "Name of the skill",
      flag: "NAME",
      initial: written.name ?? "",
      problemOf: (text) => problemOf(text)?.message,
    }));
  return { ...written, name, hasCode: kind === "tool" };
}

/** The model's text if the person wants it, otherwise a skeleton with the person's own sentence. */
async function draft(ask: Ask, wish: string, write: SkillWriter): Promise<SkillContent & { name?: string }> {
  for (let asked = wish; ; ) {
    const written = await ask.during("Asking the model to write it", () => write(asked));
    if ("problem" in written) {
      ask.warn(`${written.problem}\nYou get a skeleton to fill in.`);
      return { description: wish };
    }
    ask.say(asPlain(`${written.description}\n\n${written.instructions}`));
    const next = await ask.select({
      message: "Keep this text? You can edit it later.",
      flag: "--instructions",
      choices: [
        { value: "keep" as const, label: "Keep it" },
        { value: "change" as const, label: "Say what should change" },
        { value: "skeleton" as const, label: "Write it myself", hint: "a skeleton to fill in" },
      ],
    });
    if (next === "keep") return written;
    if (next === "skeleton") return { name: written.name, description: wish };
    const change = await ask.text({ message: "What should change?", flag: "--instructions", initial: "" });
    asked = `${wish}\n\nYour last text was:\n${written.instructions}\n\nChange this: ${change}`;
  }
}
