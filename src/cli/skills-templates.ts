/** What `remora skills new` writes: a skill of instructions, a skeleton of one, or a working example with a tool. */

import { stringify } from "yaml";
import { upperFirst } from "../lib/text/sentence.ts";

export interface SkillContent {
  /** What it does, and when to use it. */
  description?: string;
  triggers?: string[];
  /** What the model is to do. Without it, the text is a skeleton. */
  instructions?: string;
}

/** As YAML, so that no answer can become another field. */
function head(name: string, { description = "", triggers = [] }: SkillContent): string {
  const fields = { name, description, version: "0.1.0", ...(triggers.length === 0 ? {} : { triggers }) };
  return stringify(fields, { lineWidth: 0 });
}

export function instructionsText(name: string, content: SkillContent): string {
  const { description, instructions } = content;
  const text = instructions?.trim() ?? skeleton(name);
  return `---\n${head(name, { ...content, description: description ?? instructions ?? "" })}---\n\n${text}\n`;
}

function skeleton(name: string): string {
  const title = name.replaceAll("-", " ");
  return `# ${upperFirst(title)}

## Before you begin

- What must be known first? Ask the person for what is missing.
- Which files, channels or pages have the facts? Read them, and name them in the answer.

## Steps

1. The first step, as you would tell a new colleague.
2. The next one.

## The result

- Who reads it, where it goes, how long it is.
- What it must never contain.

## Example

A short request, and the answer that you would want.`;
}

export function exampleText(name: string, wanted: SkillContent): string {
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

export function pluginText(name: string): string {
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
