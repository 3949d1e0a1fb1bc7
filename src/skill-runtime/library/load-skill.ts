/**
 * The built-in tool `load_skill` reads a skill's text with its tools, one tool, or a bundled file. It looks names up in the
 * index and never joins them to a path. A bundled file must be in the skill's folder after all links are resolved.
 */
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { codeOf, messageOf } from "../../lib/errors.ts";
import { isInside } from "../../lib/is-inside.ts";
import { describeTool } from "../../lib/text/describe-tool.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { Skill } from "../../ports/skill.ts";
import type { ToolAttempt, ToolSpec } from "../../ports/tool.ts";
import { loadSkillName, offerOf, programOf, toolsNamed, toolsOfSkill } from "../../ports/tool-offer.ts";
import { originsOfDescriptions } from "../../ports/turn-origins.ts";
import { maxBodyBytes } from "../parse/parse-skill.ts";
import { failed, refused } from "../plugins/failure.ts";
import { byAnyName, toolsInForce } from "./precedence.ts";

export const loadSkillSpec: ToolSpec = {
  name: loadSkillName,
  description:
    "Reads the instructions of an available skill: call it first when one fits the task. Also what a listed tool or program takes, or a skill's bundled file.",
  parameters: {
    type: "object",
    properties: {
      name: { type: "string", description: "Skill, tool or program, as listed" },
      file: { type: "string", description: "Bundled file of the skill" },
    },
    required: ["name"],
    additionalProperties: false,
  },
  skill: "remora",
  isReadOnly: true,
  isIdempotent: true,
  readsUntrusted: false,
  isOutward: false,
  timeoutMs: 10_000,
  folder: "none",
  shellParameters: [],
  isAlwaysDefined: true,
};

/** Of a skill with hundreds of tools, the model loads the tools that it needs one by one. */
const maxDescribedCharacters = 12_000;
/** Not listed for a skill with a plugin, because it is the plugin's. */
const codeFile = /\.[cm]?[jt]s$/;
const maxListedFiles = 200;
const maxListedDepth = 4;

/** `specs`: the tools as requests offer them. */
export async function runLoadSkill(
  input: JsonObject,
  skills: Skill[],
  specs: readonly ToolSpec[] = [loadSkillSpec, ...[...toolsInForce(skills).values()].map(({ spec }) => spec)],
): Promise<ToolAttempt> {
  const { name, file } = input;
  const wanted = typeof name === "string" ? name.trim() : "";
  const skill = byAnyName(skills).get(wanted);
  if (skill === undefined) {
    const [tool, ...others] = toolsNamed(wanted, specs);
    if (tool?.name === wanted)
      return succeeded(`${describeTool(tool)}\n\nIt belongs to the skill ${tool.skill}.`, [tool]);
    if (tool !== undefined) return succeeded(`# Program ${wanted}${toolsText([tool, ...others])}`, [tool]);
    return refused(`There is no skill called ${JSON.stringify(name ?? "")}. "## Available skills" lists the names.`);
  }
  if (typeof file === "string" && file !== "") return readBundled(skill, file);
  const { named } = offerOf(specs);
  return readInstructions(skill, toolsOfSkill(skill.name, named), programsText(skill.name, named));
}

/** Of a skill with several programs, the model loads those that it needs. */
function programsText(skill: string, named: readonly ToolSpec[]): string {
  const programs = [
    ...Map.groupBy(
      named.filter((tool) => tool.skill === skill),
      programOf,
    ),
  ].flatMap(([program, { length }]) => (program === undefined ? [] : [`- ${program} (${length} tools)`]));
  if (programs.length < 2) return "";
  return `\n\n## Its programs\n\nLoad one with ${loadSkillName} to read its tools:\n${programs.join("\n")}`;
}

async function readInstructions(skill: Skill, tools: readonly ToolSpec[], programs: string): Promise<ToolAttempt> {
  const files = (await listBundled(skill.folder)).filter((file) => skill.plugin === null || !codeFile.test(file));
  const bundled = `\n\nFolder: ${skill.folder}\nBundled files (read one with the parameter file): ${files.join(", ")}`;
  const head = `# Skill ${skill.name}${files.length === 0 ? "" : bundled}`;
  const { text, isCut } = cut(Buffer.from(skill.body.trim()));
  const note = isCut ? "\n\n(Cut here: the instructions are longer than 100 KB. The rest is in SKILL.md.)" : "";
  return succeeded(`${head}\n\n${text}${note}${toolsText(tools)}${programs}`, tools);
}

function toolsText(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return "";
  let left = maxDescribedCharacters;
  const parts = tools.map((tool) => {
    const text = describeTool(tool);
    left -= text.length;
    return left < 0 ? `### ${tool.name}\n(load_skill with this name describes it)` : text;
  });
  return `\n\n## Its tools, used with use_tool\n\n${parts.join("\n\n")}`;
}

async function readBundled(skill: Skill, file: string): Promise<ToolAttempt> {
  const refusal = `The skill ${skill.name} has no file ${JSON.stringify(file)}; load the skill without file to see which it has.`;
  try {
    if (file.includes("\0")) return refused(refusal);
    const folder = await realpath(skill.folder);
    const path = await realpath(resolve(folder, file));
    if (!isInside(path, folder) || isHidden(relative(folder, path)) || !(await stat(path)).isFile())
      return refused(refusal);
    await using handle = await open(path);
    const buffer = Buffer.alloc(maxBodyBytes + 1);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, bytesRead);
    if (bytes.includes(0)) return refused(`${file} of the skill ${skill.name} is not a text file; its path is ${path}`);
    const { text, isCut } = cut(bytes);
    return succeeded(isCut ? `${text}\n\n(Cut here: the file is longer than 100 KB. Its path is ${path})` : text);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "ENAMETOOLONG") return refused(refusal);
    return failed(`${file} of the skill ${skill.name} can't be read: ${messageOf(thrown)}`);
  }
}

/** Hidden files are never listed or returned, because they may contain keys or belong to git. */
function isHidden(path: string): boolean {
  return path.split(sep).some((part) => part.startsWith("."));
}

function cut(bytes: Buffer): { text: string; isCut: boolean } {
  if (bytes.length <= maxBodyBytes) return { text: bytes.toString(), isCut: false };
  const text = new TextDecoder().decode(bytes.subarray(0, maxBodyBytes), { stream: true });
  return { text, isCut: true };
}

async function listBundled(folder: string): Promise<string[]> {
  const files: string[] = [];
  const visit = async (current: string, depth: number): Promise<void> => {
    const entries = await readdir(current, { withFileTypes: true }).catch(() => []);
    for (const { name, ...entry } of sorted(entries)) {
      if (name.startsWith(".") || name === "node_modules") continue;
      const path = join(current, name);
      if (entry.isFolder && depth < maxListedDepth) await visit(path, depth + 1);
      else if (entry.isFile && files.length < maxListedFiles) files.push(relative(folder, path));
    }
  };
  await visit(folder, 1);
  return files.filter((file) => file.toLowerCase() !== "skill.md");
}

function sorted(entries: { name: string; isFile(): boolean; isDirectory(): boolean }[]) {
  return entries
    .map((entry) => ({ name: entry.name, isFile: entry.isFile(), isFolder: entry.isDirectory() }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** `described`: the tools whose descriptions are in the text. */
function succeeded(text: string, described: readonly ToolSpec[] = []): ToolAttempt {
  const origins = originsOfDescriptions(described);
  return { isOk: true, text, ...(origins.length === 0 ? {} : { origins }), files: [], isRetryable: false };
}
