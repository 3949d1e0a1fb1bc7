/** `remora skills new NAME` creates a working example skill with a plugin, patterns and tests, ready to be changed. */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Environment } from "../config/environment.ts";
import { RemoraError } from "../lib/errors.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { byAnyName } from "../skill-runtime/library/precedence.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

const maxNameCharacters = 48;
export const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export async function newSkillCommand(env: Environment, root: string, name: string): Promise<void> {
  const settings = settingsFor(env, root);
  const place = `skills new ${name}`;
  if (!skillName.test(name) || name.length > maxNameCharacters) {
    const message = "a skill's name has up to 48 letters a-z, digits and single hyphens, such as release-notes";
    throw new RemoraError({ code: "skills.name", place, message });
  }
  const skills = join(settings.workspace, "skills");
  const folder = join(skills, name);
  const { skills: known } = await loadSkills(skillRootsOf(settings));
  const other = byAnyName(known).get(name);
  if (other !== undefined || existsSync(folder)) {
    const message = `it already exists: ${other?.path ?? folder}. Choose another name`;
    throw new RemoraError({ code: "skills.taken", place, message });
  }
  await mkdir(skills, { recursive: true });
  // Use a hidden folder so that a running agent never sees half a skill.
  const aside = await mkdtemp(join(skills, ".new-"));
  try {
    await writeFile(join(aside, "SKILL.md"), skillText(name));
    await writeFile(join(aside, "plugin.mjs"), pluginText(name));
    await chmod(aside, 0o755);
    await rename(aside, folder);
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true });
    throw thrown;
  }
  const shown = relative(process.cwd(), folder);
  process.stdout.write(
    `Created ${shown} with SKILL.md and plugin.mjs. The example keeps a to-do list.\nEdit both, then run: npm run -s remora -- skills check ${shown}\n`,
  );
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
