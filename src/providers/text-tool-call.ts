/**
 * Recognises tool calls that a model without native calls wrote as text. The whole answer must be the call, and the name
 * must be that of a known tool:
 *
 *   {"name": …, "args" | "arguments" | "parameters" | "input": …}, also with "tool" for "name"
 *   {"function": {"name": …, "arguments": …}}, {"tool_calls": […]}
 *   a list of one such object, a fenced one, or one in <tool_call>…</tool_call>, of which there can be several
 */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelToolCall } from "../ports/provider.ts";
import type { JsonSchema } from "../ports/tool.ts";

/** By name. The schema is undefined for a tool that is no longer offered. */
export type KnownTools = ReadonlyMap<string, JsonSchema | undefined>;

type WrittenCall = Pick<ModelToolCall, "name" | "inputJson">;

const nameKeys = ["name", "tool", "function"];
const inputKeys = ["args", "arguments", "parameters", "input"];
const otherKeys = ["id", "type", "index"];
/** A text that begins with another key is no call. */
export const firstKeys: readonly string[] = [...nameKeys, ...inputKeys, ...otherKeys, "tool_calls"];

export const openingTag = "<tool_call>";
const closingTag = "</tool_call>";
const fence = "```";
/** What may follow the opening fence. */
export const fenceLabels: readonly string[] = ["", "json", "tool_call"];

export function textToolCalls(text: string, tools: KnownTools): ModelToolCall[] | undefined {
  const values = writtenValues(text.trim());
  const calls = values?.map((value) => callOf(value, tools));
  if (calls === undefined || calls.length === 0) return undefined;
  return calls.every((call) => call !== undefined)
    ? calls.map((call, index) => ({ id: `call_${index + 1}`, ...call }))
    : undefined;
}

/** The name in the beginning of a call, whose end is missing. */
export function toolNameIn(text: string, tools: KnownTools): string | undefined {
  const [, name] = /"(?:name|tool|function)"\s*:\s*"([^"\\]*)"/.exec(text) ?? [];
  return name !== undefined && tools.has(name) ? name : undefined;
}

/** The objects that may be calls. Undefined if the text is something else. */
function writtenValues(text: string): unknown[] | undefined {
  if (text.startsWith(openingTag)) return taggedValues(text);
  const value = parseJson(text.startsWith(fence) ? unfenced(text) : text);
  if (Array.isArray(value)) return value.length === 1 ? value : undefined;
  if (!isJsonObject(value)) return undefined;
  const { tool_calls: listed, ...rest } = value;
  return Array.isArray(listed) && Object.keys(rest).length === 0 ? listed : [value];
}

/** Models often leave out the last closing tag. */
function taggedValues(text: string): unknown[] | undefined {
  const values: unknown[] = [];
  for (let rest = text; rest !== ""; ) {
    if (!rest.startsWith(openingTag)) return undefined;
    const end = rest.indexOf(closingTag);
    values.push(parseJson(rest.slice(openingTag.length, end === -1 ? undefined : end)));
    rest = end === -1 ? "" : rest.slice(end + closingTag.length).trimStart();
  }
  return values;
}

function unfenced(text: string): string {
  if (text.length < 2 * fence.length || !text.endsWith(fence)) return "";
  const inner = text.slice(fence.length, -fence.length);
  const [label = ""] = /^\w*/.exec(inner) ?? [];
  return fenceLabels.includes(label.toLowerCase()) ? inner.slice(label.length) : "";
}

function callOf(value: unknown, tools: KnownTools): WrittenCall | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.function)) return plainCallOf(value, tools);
  return hasOnly(value, ["function", ...otherKeys]) ? plainCallOf(value.function, tools) : undefined;
}

function plainCallOf(value: unknown, tools: KnownTools): WrittenCall | undefined {
  if (!isJsonObject(value)) return undefined;
  // Other keys, such as a description, mean that the object describes a tool.
  if (!hasOnly(value, [...nameKeys, ...inputKeys, ...otherKeys])) return undefined;
  const names = nameKeys.flatMap((key) => (value[key] === undefined ? [] : [value[key]]));
  const inputs = inputKeys.filter((key) => value[key] !== undefined);
  const [name, inputKey] = [names[0], inputs[0]];
  if (names.length !== 1 || inputs.length !== 1 || typeof name !== "string" || inputKey === undefined) return undefined;
  const input = value[inputKey];
  if (!tools.has(name) || isSchema(input, tools.get(name))) return undefined;
  // The answer's reader judges empty and malformed arguments.
  return { name, inputJson: input === null ? "" : typeof input === "string" ? input : JSON.stringify(input) };
}

/** True for a schema of arguments, unless the tool takes such a thing. */
function isSchema(input: unknown, schema: JsonSchema | undefined): boolean {
  if (!isJsonObject(input) || input.type !== "object" || !isJsonObject(input.properties)) return false;
  const own: unknown = schema?.properties;
  return !isJsonObject(own) || own.properties === undefined;
}

function hasOnly(value: JsonObject, keys: readonly string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}
