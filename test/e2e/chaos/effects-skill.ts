/** A skill with three tools whose effects can be counted: one that runs unasked, one that asks, and an idempotent one. */
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
tools:${tool("effect_safe")}${tool("effect_ask")}${tool("effect_again", "\n    idempotent: true")}
confirm_patterns:
  - { pattern: "^effect_ask ", reason: asks for the test }
---
`;

const plugin = `export default {
  async execute(_tool, { id }, { config, signal }) {
    const response = await fetch(config.url + "/" + id, { method: "POST", signal });
    return await response.text();
  },
};
`;

export async function writeEffectsSkill(workspace: string): Promise<void> {
  const folder = join(workspace, "skills", "effects");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "SKILL.md"), skill);
  await writeFile(join(folder, "plugin.mjs"), plugin);
}
