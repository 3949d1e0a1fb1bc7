/**
 * Which tools a request defines whole. The definitions of all shipped tools are three times as long as the rest of a short
 * request, and a turn needs few of them. So, if they don't all fit, a request defines only `load_skill`, `use_tool` and the
 * tools that their SKILL.md marks `always: true`: those that everyday requests need, because each tool that must be loaded first
 * costs a request, and small models don't get that far. The others are named. `load_skill` describes these, and `use_tool` runs
 * them. The defined tools stay the same whatever a turn loads, so that the service's cached beginning of the prompt stays
 * valid: a definition more would void it. `tools.define: all` defines every tool.
 *
 * A tool that another program offers is never defined. What the program writes about its tools, their names included, is text from
 * outside, which must not be in prompts that nobody loaded it into. So the prompt names the program, and `load_skill` describes
 * its tools with their origin. It names tools whose names the settings have, or that are a few plain words.
 *
 * `use_tool` exists only between the model and the reader of its answer. Everything else sees the tool that it names.
 */
import { briefSchema } from "../lib/text/describe-tool.ts";
import type { ToolSpec } from "./tool.ts";

export const loadSkillName = "load_skill";
/** Not `call_tool`: small models mix that up with the tag `<tool_call>` of their own templates. */
export const useToolName = "use_tool";

/** Stand in for a tool's name in approval rules: `safety.tools` can name who may answer. */
export const keepChangesTool = "keep_changes";
export const budgetTool = "budget";

/** No skill can use these names. */
export const builtInNames: ReadonlySet<string> = new Set([loadSkillName, useToolName, keepChangesTool, budgetTool]);

/** In bytes of JSON. */
const maxDefinedBytes = 8_000;

export interface ToolOffer {
  /** In the order in which a request contains them, with brief schemas. What a call must fit is the tool's own. */
  defined: readonly ToolSpec[];
  /** Named in the prompt, and called through `use_tool`. */
  named: readonly ToolSpec[];
}

const useToolSpec: ToolSpec = {
  name: useToolName,
  description: "Uses one of the tools that are listed by skill.",
  parameters: {
    type: "object",
    properties: {
      name: { type: "string" },
      input: { type: "object", description: "What the tool takes" },
    },
    required: ["name", "input"],
  },
  skill: "remora",
  isReadOnly: false,
  isIdempotent: false,
  readsUntrusted: false,
  isOutward: false,
  timeoutMs: 0,
  folder: "none",
  shellParameters: [],
};

export function offerOf(tools: readonly ToolSpec[]): ToolOffer {
  const own = tools.filter(({ offeredBy }) => offeredBy === undefined);
  const fits =
    own.every((tool) => tool.isDefinedByChoice === true) ||
    own.reduce((sum, tool) => sum + bytesOf(tool), 0) <= maxDefinedBytes;
  if (fits && own.length === tools.length) return { defined: tools.map(asDefined), named: [] };
  let left = maxDefinedBytes;
  const isDefined = (tool: ToolSpec) => {
    if (tool.offeredBy !== undefined) return false;
    if (fits) return true;
    if (tool.isAlwaysDefined !== true || bytesOf(tool) > left) return false;
    left -= bytesOf(tool);
    return true;
  };
  const { defined = [], named = [] } = Object.groupBy(tools, (tool) => (isDefined(tool) ? "defined" : "named"));
  return { defined: [...defined.map(asDefined), useToolSpec], named };
}

const briefSpecs = new WeakMap<ToolSpec, ToolSpec>();

/** The same object each time, so that a prefix of unchanged tools is known to be unchanged. */
function asDefined(tool: ToolSpec): ToolSpec {
  const one = briefSpecs.get(tool) ?? { ...tool, parameters: briefSchema(tool.parameters) };
  briefSpecs.set(tool, one);
  return one;
}

const chosen = new WeakMap<ToolSpec, ToolSpec>();

/** For `tools.define: all`. Returns the tools as they are if their definitions exceed `maxBytes` together. */
export function definingAll(tools: ToolSpec[], maxBytes: number): ToolSpec[] {
  const own = tools.filter(({ offeredBy }) => offeredBy === undefined);
  if (own.reduce((sum, tool) => sum + bytesOf(tool), 0) > maxBytes) return tools;
  return tools.map((tool) => {
    const one = chosen.get(tool) ?? { ...tool, isDefinedByChoice: true };
    chosen.set(tool, one);
    return one;
  });
}

/** How prompts and `load_skill` call the program that offers a tool. */
export function programOf({ skill, offeredBy }: ToolSpec): string | undefined {
  return offeredBy === undefined ? undefined : `${skill}/${offeredBy}`;
}

/** The tool as prompts name it that nobody loaded it into. */
export function nameInPrompts(tool: ToolSpec): string {
  return tool.isNameHidden === true ? (programOf(tool) ?? tool.skill) : tool.name;
}

/**
 * The tools that come with a skill's text. Those of a program are among them if the skill has only one: with the words of several
 * in a prompt, none could be used after the others.
 */
export function toolsOfSkill(name: string, tools: readonly ToolSpec[]): ToolSpec[] {
  const all = tools.filter(({ skill }) => skill === name);
  const programs = new Set(all.flatMap((tool) => programOf(tool) ?? []));
  return all.filter(({ offeredBy }) => offeredBy === undefined || programs.size === 1);
}

/** What `load_skill` describes under a name that is no skill's: one tool, or those of a program. */
export function toolsNamed(name: string, tools: readonly ToolSpec[]): ToolSpec[] {
  const one = tools.find((tool) => tool.name === name);
  return one === undefined ? tools.filter((tool) => programOf(tool) === name) : [one];
}

const sizes = new WeakMap<ToolSpec, number>();

function bytesOf(tool: ToolSpec): number {
  const known = sizes.get(tool);
  if (known !== undefined) return known;
  const { name, description, parameters } = tool;
  const bytes = Buffer.byteLength(JSON.stringify({ name, description, parameters }));
  sizes.set(tool, bytes);
  return bytes;
}
