/** The file tools. Each parses its arguments, works inside the working folder, and answers in text. */
import type { JsonObject, Plugin, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { explainFileProblem } from "../../src/plugin-sdk/working-folder.ts";
import { editFile } from "./edit.ts";
import { listFolder } from "./list.ts";
import { readFileText } from "./read.ts";
import { searchFiles } from "./search.ts";
import { explainSkillFolder } from "./skill-files.ts";
import { writeFileText } from "./write.ts";

type Tool = (input: JsonObject, context: PluginContext) => Promise<PluginResult>;

const tools = new Map<string, Tool>([
  ["read_file", readFileText],
  ["write_file", writeFileText],
  ["edit_file", editFile],
  ["list_folder", listFolder],
  ["search_files", searchFiles],
]);

async function execute(name: string, input: JsonObject, context: PluginContext): Promise<PluginResult> {
  const tool = tools.get(name);
  if (tool === undefined) return { success: false, output: "", error: `The filesystem skill has no tool ${name}.` };
  try {
    return await tool(input, context);
  } catch (thrown) {
    const error =
      (name === "read_file" ? undefined : await explainSkillFolder(input.path, context)) ??
      explainFileProblem(thrown, typeof input.path === "string" ? input.path : ".");
    if (error === undefined) throw thrown;
    return { success: false, output: "", error };
  }
}

const plugin: Plugin = { execute };

export default plugin;
