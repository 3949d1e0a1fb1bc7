/**
 * `remora skills new [NAME]` creates a skill in the workspace. On a terminal, it asks what the skill is to do. The result
 * is either instructions for the model, or a working example with a plugin, patterns and tests, ready to be changed.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import type { Ask } from "../setup/ask.ts";
import { askOnTerminal } from "../setup/ask-on-terminal.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { byAnyName } from "../skill-runtime/library/precedence.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

const maxNameCharacters = 48;
export const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export interface NewSkillOptions {
  /** What it does, and when to use it. */
  description?: string;
  triggers?: string[];
  /** What the model is to do. Without it, the skill is the example with a tool. */
  instructions?: string;
}

/** `ask` is undefined without a terminal: then the name and the options say everything. */
export async function newSkillCommand(
  env: Environment,
  root: string,
  given: string | undefined,
  options: NewSkillOptions = {},
  ask: Ask | undefined = terminal(),
): Promise<void> {
  const settings = settingsFor(env, root);
  const { skills: known } = await loadSkills(skillRootsOf(settings));
  const skills = join(settings.workspace, "skills");
  const problemOf = (name: string) => {
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
  const name = given ?? (await askName(ask, (text) => problemOf(text)?.message));
  const problem = problemOf(name);
  if (problem !== undefined) throw new RemoraError({ ...problem, place: `skills new ${name}` });
  const wanted = ask === undefined || Object.keys(options).length > 0 ? options : await askWhat(ask);
  const isText = wanted.instructions !== undefined;
  const folder = join(skills, name);
  await mkdir(skills, { recursive: true });
  // Use a hidden folder so that a running agent never sees half a skill.
  const aside = await mkdtemp(join(skills, ".new-"));
  try {
    await writeFile(join(aside, "SKILL.md"), isText ? instructionsText(name, wanted) : exampleText(name, wanted));
    if (!isText) await writeFile(join(aside, "plugin.mjs"), pluginText(name));
    await chmod(aside, 0o755);
    await rename(aside, folder);
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true });
    throw thrown;
  }
  const shown = relative(process.cwd(), folder);
  const what = isText
    ? "with SKILL.md. A running agent uses it from its next step on."
    : "with SKILL.md and plugin.mjs. The example keeps a to-do list.";
  process.stdout.write(`Created ${shown} ${what}\nEdit it, then run: npm run -s remora -- skills check ${shown}\n`);
}

function terminal(): Ask | undefined {
  return process.stdin.isTTY && process.stdout.isTTY
    ? askOnTerminal({ input: process.stdin, output: process.stdout })
    : undefined;
}

async function askName(ask: Ask | undefined, problemOf: (name: string) => string | undefined): Promise<string> {
  if (ask === undefined)
    throw new RemoraError({
      code: "skills.name",
      place: "skills new",
      message: "give the skill a name, such as release-notes",
    });
  return await ask.text({ message: "Name of the skill, such as release-notes", flag: "NAME", initial: "", problemOf });
}

async function askWhat(ask: Ask): Promise<NewSkillOptions> {
  const needed = (text: string) => (text.trim() === "" ? "Write a sentence." : undefined);
  const kind = await ask.select({
    message: "What is it to be?",
    flag: "--instructions",
    choices: [
      { value: "text" as const, label: "Instructions for the model", hint: "how something is done here" },
      { value: "tool" as const, label: "A tool with code", hint: "an example that you change" },
    ],
  });
  const description = await ask.text({
    message: "What does it do, and when should it be used?",
    flag: "--description",
    initial: "",
    problemOf: needed,
  });
  const words = await ask.text({
    message: "Words that call for it, with commas (Enter alone: none)",
    flag: "--triggers",
    initial: "",
  });
  const triggers = words
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  if (kind === "tool") return { description, triggers };
  const instructions = await ask.text({
    message: "What should the model do then?",
    flag: "--instructions",
    initial: "",
    problemOf: needed,
  });
  return { description, triggers, instructions };
}

/** As YAML, so that no answer can become another field. */
function head(name: string, { description = "", triggers = [] }: NewSkillOptions): string {
  const fields = { name, description, version: "0.1.0", ...(triggers.length === 0 ? {} : { triggers }) };
  return stringify(fields, { lineWidth: 0 });
}

function instructionsText(name: string, wanted: NewSkillOptions): string {
  const text = wanted.description === undefined ? { ...wanted, description: wanted.instructions ?? "" } : wanted;
  return `---\n${head(name, text)}---\n\n${wanted.instructions?.trim()}\n`;
}

function exampleText(name: string, wanted: NewSkillOptions): string {
  if (wanted.description === undefined) return skillText(name);
  return skillText(name).replace(/^name: .*\ndescription: .*\nversion: .*\n/m, () => head(name, wanted));
}

/** Tool names begin with the skill's name, because all skills share one namespace for tools. */
function toolPrefix(name: string): string {
  return name.replaceAll("-", "_");
}

function skillText(name: string): string {
  const tool = toolPrefix(name);
  return `---
name: ${name}
description: Keeps a to-do list. Use it when somebody wants to add something to do, or asks what is left.
version: 0.1.0

# Tools that the model can call. Their code is in plugin.mjs.
tools:
  - name: ${tool}_add
    description: Adds one thing to the list.
    parameters:
      type: object
      properties:
        text: { type: string, minLength: 1, maxLength: 500, description: "The thing to do, in a few words" }
      required: [text]
      additionalProperties: false
  - name: ${tool}_list
    description: Shows the list.
    # Changes nothing, so it can run in parallel, and again after a failure.
    readOnly: true
    idempotent: true
  - name: ${tool}_clear
    description: Empties the list.

# Patterns are regular expressions over the tool's name, a blank, and the arguments as JSON. danger_patterns block a call.
# confirm_patterns ask a person first. Patterns apply to the tools of all skills.
danger_patterns:
  - pattern: '^${tool}_add .*-----BEGIN [A-Z ]*PRIVATE KEY-----'
    reason: a private key has no place in a list
confirm_patterns:
  - pattern: '^${tool}_clear '
    reason: deletes the whole list

# What the patterns should do. \`remora skills check\` tests it.
gate_tests:
  safe:
    - { tool: ${tool}_add, args: { text: water the plants } }
    - { tool: ${tool}_list, args: {} }
  confirm:
    - { tool: ${tool}_clear, args: {} }
  block:
    - { tool: ${tool}_add, args: { text: "-----BEGIN PRIVATE KEY-----" } }
---

# Instructions for the model

- Add one thing per call, in the person's own words.
- Show the list after a change.
- Empty it only when somebody asks for it. The person must confirm.
`;
}

function pluginText(name: string): string {
  const tool = toolPrefix(name);
  return `/** The tools of the skill ${name}. The arguments have passed the schemas in SKILL.md and the safety gate. */
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

async function execute(tool, input, context) {
  // The skill's own folder. context.workingFolder is the conversation's folder, context.config the skill's settings.
  const file = join(context.dataFolder, "list.txt");
  switch (tool) {
    case "${tool}_add":
      await appendFile(file, \`\${input.text.replaceAll("\\n", " ")}\\n\`);
      return \`Added: \${input.text}\`;
    case "${tool}_list":
      return (await readList(file)) || "The list is empty.";
    case "${tool}_clear":
      await rm(file, { force: true });
      return "The list is empty now.";
    default:
      // The model reads the error. Add \`retryable: true\` to ask for another attempt. Thrown errors are failures too.
      return { success: false, output: "", error: \`There is no tool \${tool}.\` };
  }
}

async function readList(file) {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

// Optional: \`init(home)\` runs once before the first call, \`destroy()\` once at the end.
export default { execute };
`;
}
