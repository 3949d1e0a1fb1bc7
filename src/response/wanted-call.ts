/**
 * Finds the call that `use_tool` stands for, in the keys of its definition or those that the templates of models teach:
 * `{"name", "arguments"}`, `{"tool_name", "parameters"}`, `{"function": {…}}`, the arguments as text, or beside the name.
 */
import { isJsonObject } from "../lib/json.ts";
import { type NumberTexts, parseLooseJson } from "../lib/loose-json.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { isUseTool, meantTool } from "./tool-names.ts";

export interface WantedCall {
  name: string;
  /** The text of the arguments, or what they are inside of `use_tool`. */
  given: { text: string } | { value: Json };
}

const nameKeys: readonly string[] = ["tool_name", "toolName", "tool", "function_name", "function", "name"];
const inputKeys: readonly string[] = ["input", "arguments", "parameters", "args", "params", "tool_input", "kwargs"];
/** A whole call can stand in one of these. In some templates, it stands in the name of its tool. */
const callKeys: readonly string[] = ["function", "tool", "tool_call", "call"];
/** Of the protocols. They say nothing about the call. */
const envelopeKeys: ReadonlySet<string> = new Set(["type", "index", "id", "call_id", "tool_call_id"]);

/** `use_tool` inside of `use_tool`, and so on. */
const maxWrappers = 3;

/** Undefined if a call of `use_tool` names no tool, or several. */
export function wantedCall(
  { name, inputJson }: Pick<ModelToolCall, "name" | "inputJson">,
  tools: readonly ToolSpec[],
  numbers: NumberTexts,
): WantedCall | undefined {
  let wanted: WantedCall | undefined = { name, given: { text: inputJson } };
  for (let wrapper = 0; wrapper <= maxWrappers; wrapper += 1) {
    if (wanted === undefined || !isUseTool(wanted.name)) return wanted;
    const value: unknown = "text" in wanted.given ? parseLooseJson(wanted.given.text, numbers) : wanted.given.value;
    wanted = isJsonObject(value) ? innerCall(value, tools, numbers) : undefined;
  }
  return undefined;
}

function innerCall(wrapper: JsonObject, tools: readonly ToolSpec[], numbers: NumberTexts): WantedCall | undefined {
  const entries = Object.entries(wrapper).filter(([key]) => !envelopeKeys.has(key));
  const [[key, inner] = ["", null]] = entries;
  if (entries.length === 1 && isJsonObject(inner)) {
    if (callKeys.includes(key)) return innerCall(inner, tools, numbers);
    return meantTool(key, tools) === undefined ? undefined : { name: key, given: { value: inner } };
  }
  const texts = nameKeys.flatMap((key) => {
    const name = wrapper[key];
    return typeof name === "string" ? [{ key, name }] : [];
  });
  const meant = texts.map((text) => ({ ...text, tool: meantTool(text.name, tools)?.tool }));
  const known = meant.filter(({ tool }) => tool !== undefined);
  // `name` can be an argument of the tool that another key names.
  const [chosen, ...others] = known.length > 0 ? known : meant.filter((one) => one.key !== "function");
  if (chosen === undefined || others.some((one) => one.key !== "name" && one.tool !== chosen.tool)) return undefined;
  const { [chosen.key]: _name, ...beside } = wrapper;
  copyNumbers(numbers, wrapper, beside);
  return { name: chosen.name, given: inputIn(beside, chosen.tool, numbers) };
}

/** What a wrapper without the tool's name says that the tool gets. */
function inputIn(wrapper: JsonObject, tool: ToolSpec | undefined, numbers: NumberTexts): WantedCall["given"] {
  const properties = tool?.parameters.properties;
  const isOwn = (key: string) => isJsonObject(properties) && Object.hasOwn(properties, key);
  // Says once more which tool it is.
  const isTool = (value: unknown) => tool !== undefined && (value === tool.skill || value === tool.name);
  const isKnown = (key: string) => envelopeKeys.has(key) || isTool(wrapper[key]);
  const keys = Object.keys(wrapper).filter((key) => isOwn(key) || !isKnown(key));
  const inputs = keys.filter((key) => inputKeys.includes(key) && (isJsonObject(wrapper[key]) || !isOwn(key)));
  const filled = inputs.filter((key) => !isEmpty(wrapper[key]));
  const beside = keys.filter((key) => !inputs.includes(key));
  const [input = inputs[0]] = filled;
  // Nothing says which of several counts. The check names them as unknown.
  if (filled.length > 1) return { value: wrapper };
  const value = input === undefined ? {} : (wrapper[input] ?? {});
  if (beside.length === 0) return typeof value === "string" ? { text: value } : { value };
  const inner: unknown = typeof value === "string" ? parseLooseJson(value || "{}", numbers) : value;
  if (!isJsonObject(inner) || beside.some((key) => Object.hasOwn(inner, key))) return { value: wrapper };
  // Both are said, so both count.
  const all = { ...Object.fromEntries(beside.map((key) => [key, wrapper[key] ?? null])), ...inner };
  copyNumbers(numbers, wrapper, all);
  copyNumbers(numbers, inner, all);
  return { value: all };
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (isJsonObject(value) && Object.keys(value).length === 0);
}

function copyNumbers(numbers: NumberTexts, from: object, to: object): void {
  numbers.set(to, new Map([...(numbers.get(to) ?? []), ...(numbers.get(from) ?? [])]));
}
