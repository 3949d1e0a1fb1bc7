/** Lists skills (list.ts), and writes instructions with a person's approval (write.ts). */
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JsonObject, Plugin, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { textIn } from "../../src/plugin-sdk/text-in.ts";
import { explainFileProblem } from "../../src/plugin-sdk/working-folder.ts";
import { listSkills } from "./list.ts";
import { editSkill, writeSkill } from "./write.ts";

async function execute(tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const { skills } = context;
  if (skills === undefined) return failure("Skills are not available here.");
  try {
    switch (tool) {
      case "list_skills":
        return listSkills(textIn(input.query), skills, context.workspace);
      case "write_skill":
        return await writeSkill(
          { name: textIn(input.name), file: textIn(input.file) },
          textIn(input.content),
          context,
          skills,
        );
      case "edit_skill":
        return await editSkill(
          { name: textIn(input.name), file: textIn(input.file) },
          { before: textIn(input.old_text), after: textIn(input.new_text) },
          context,
          skills,
        );
      default:
        return failure(`The skills skill has no tool ${tool}.`);
    }
  } catch (thrown) {
    const error = explainFileProblem(thrown, textIn(input.file) || "SKILL.md");
    if (error === undefined) throw thrown;
    return failure(error);
  }
}

const plugin: Plugin = { execute };

export default plugin;
