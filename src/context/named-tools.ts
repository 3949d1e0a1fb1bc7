/**
 * Tools that a request names without defining them (tool-offer.ts): the list of their names, the descriptions of those that the
 * conversation has loaded, and their earlier calls, which the model sees as it makes them.
 */
import { parseJson } from "../lib/json.ts";
import { describeTool } from "../lib/text/describe-tool.ts";
import type { ModelMessage, ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import {
  loadSkillName,
  programOf,
  type ToolOffer,
  toolsNamed,
  toolsOfSkill,
  useToolName,
} from "../ports/tool-offer.ts";
import { attributeText, fence } from "./fence.ts";
import type { StoredExchange } from "./history.ts";

/** Of one skill. `load_skill` lists all of them. */
const maxListedTools = 40;

export function renderToolNotes({ defined, named }: ToolOffer): string {
  if (defined.length === 0) return fence("tools", {}, "No tools in this step: answer in text.");
  if (named.length === 0) return "";
  const lines = [...Map.groupBy(named, ({ skill }) => skill)].map(([skill, own]) => {
    const known = own.filter((tool) => tool.isNameHidden !== true).map(({ name }) => name);
    const names = known.slice(0, maxListedTools);
    const more = known.length > maxListedTools ? [`${known.length - maxListedTools} more`] : [];
    const others = Map.groupBy(
      own.filter((tool) => tool.isNameHidden === true),
      programOf,
    );
    const programs = [...others].map(([program = skill, { length }]) => {
      const [is, other] = [length === 1 ? "tool" : "tools", names.length > 0 ? "other " : ""];
      return `${length} ${other}${is} of the program ${attributeText(program)}`;
    });
    return `- ${attributeText(skill)}: ${[...names, ...more, ...programs].join(", ")}`;
  });
  const what = named.every(({ offeredBy }) => offeredBy === undefined)
    ? "the tool or its skill"
    : "the tool, its skill or its program";
  const head = `More tools, by skill. Load ${what} with ${loadSkillName}, then use it with ${useToolName}:`;
  return fence("tools", {}, [head, ...lines].join("\n"));
}

/**
 * Returns the named tools that earlier turns of the conversation have called or loaded, and whose descriptions no longer stand
 * in the prompt.
 */
export function loadedTools(exchanges: readonly StoredExchange[], named: readonly ToolSpec[]): ToolSpec[] {
  if (named.length === 0) return [];
  const texts = exchanges.flatMap(({ steps, shown = [] }) => [
    ...steps.flatMap(({ calls }) => calls.map(({ text }) => text)),
    ...shown.flatMap(({ pieces }) => pieces.map(({ text }) => text)),
  ]);
  const names = new Set<string>();
  for (const { name, inputJson } of exchanges.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls))) {
    names.add(name);
    const loaded = name === loadSkillName ? inputIn(inputJson) : undefined;
    if (isNamed(loaded)) names.add(loaded.name.trim());
  }
  const known = new Set([...names].flatMap((name) => [...toolsOfSkill(name, named), ...toolsNamed(name, named)]));
  return named.filter((tool) => known.has(tool) && !texts.some((text) => text.includes(describeTool(tool))));
}

export function renderTools(tools: readonly ToolSpec[]): string {
  return tools.length === 0 ? "" : fence("skill_tools", {}, tools.map(describeTool).join("\n\n"));
}

/** Writes calls of tools that the request does not define as calls of `use_tool`. */
export function withNamedCalls(messages: readonly ModelMessage[], { defined, named }: ToolOffer): ModelMessage[] {
  if (named.length === 0) return [...messages];
  const names = new Set(defined.map(({ name }) => name));
  return messages.map((message) => {
    if (message.role === "tool") return names.has(message.name) ? message : { ...message, name: useToolName };
    if (message.role !== "assistant") return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => (names.has(call.name) ? call : wrapped(call))) };
  });
}

function wrapped({ id, name, inputJson }: ModelToolCall): ModelToolCall {
  return { id, name: useToolName, inputJson: JSON.stringify({ name, input: inputIn(inputJson) }) };
}

/** Malformed text stays text. */
function inputIn(inputJson: string): unknown {
  const input = inputJson.trim() === "" ? {} : parseJson(inputJson);
  return input === undefined ? inputJson : input;
}

function isNamed(input: unknown): input is { name: string } {
  return typeof input === "object" && input !== null && "name" in input && typeof input.name === "string";
}
