/**
 * A skill with tools whose effects can be counted: one that runs unasked, one that asks, an idempotent one, one that asks a
 * question, and one that returns a file.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const tool = (name: string, more = "") => `
  - name: ${name}
    description: Has an effect.
    timeout: 60${more}
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }`;

const skill = `---
name: effects
description: Effects for tests.
tools:${tool("effect_safe")}${tool("effect_ask")}${tool("effect_again", "\n    idempotent: true")}${tool("effect_question")}${tool("effect_file", "\n    folder: write")}
confirm_patterns:
  - { pattern: "^effect_ask ", reason: asks for the test }
---
`;

const plugin = `import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export default {
  async execute(tool, { id }, { config, signal, ask, workingFolder }) {
    if (tool === "effect_question") await ask("Really " + id + "?", ["Yes", "No"]);
    const response = await fetch(config.url + "/" + id, { method: "POST", signal });
    const output = await response.text();
    if (tool !== "effect_file") return output;
    const name = id + ".txt";
    await writeFile(join(workingFolder, name), output);
    return { success: true, output, files: [{ name, path: name, mimeType: "text/plain" }] };
  },
};
`;

export async function writeEffectsSkill(workspace: string): Promise<void> {
  const folder = join(workspace, "skills", "effects");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "SKILL.md"), skill);
  await writeFile(join(folder, "plugin.mjs"), plugin);
}
