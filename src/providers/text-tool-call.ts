/**
 * Reads the body of a call that a model wrote as text, whatever stands around it:
 *
 *   an object, or a list of objects: {"name": …, "args" | "arguments" | "parameters" | "input": …}, also with "tool" or "tool_name"
 *   for "name"; {"function": {"name": …, "arguments": …}}; {"tool_calls": […]}; Apertus's {"TOOL": {…}}
 *   Python's calls: name(key="value"), also in a list
 *   a name and its arguments: name{…}, name[ARGS]{…}, functions.name:0 <token>{…}, call:name{…}, name<arg_key>…</arg_key>…
 *   parameters as tags: <function=name><parameter=key>value</parameter></function>, <invoke name="…">, or as attributes
 */
import { isJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelToolCall } from "../ports/provider.ts";
import type { JsonSchema } from "../ports/tool.ts";
import { parametersIn } from "./call-parameters.ts";
import { tagAt } from "./model-tags.ts";
import { type Balance, balancedEnd, type PythonCall, readPythonCalls, readValue } from "./written-values.ts";

/** By name. The schema is undefined for a tool that is no longer offered. */
export type KnownTools = ReadonlyMap<string, JsonSchema | undefined>;

export type WrittenCall = Pick<ModelToolCall, "name" | "inputJson">;

export const nameKeys: readonly string[] = ["name", "tool", "tool_name", "function", "function_name", "action"];
const inputKeys = ["args", "arguments", "parameters", "input", "params", "tool_input", "action_input", "kwargs"];
const otherKeys = ["id", "type", "index", "tool_call_id"];
/** A text that begins with another key is no call. */
export const firstKeys: readonly string[] = [...nameKeys, ...inputKeys, ...otherKeys, "tool_calls"];

export interface BodyPlace {
  known: KnownTools;
  /** No more text follows. */
  isEnd: boolean;
  /** A tag has said that this is a call, so an unknown name is a call of an unknown tool, not text. */
  isTagged: boolean;
  /** The tool, if what stands before the body has named it. */
  name?: string;
  balances: Map<number, Balance>;
}

/** "more": the body may go on. "none": it is no call. */
export type Body = { type: "calls"; calls: WrittenCall[]; end: number } | { type: "more" } | { type: "none" };

const none: Body = { type: "none" };
const more: Body = { type: "more" };

export function bodyAt(text: string, from: number, place: BodyPlace): Body {
  const start = skipped(text, from);
  if (start === "unclear" && !place.isEnd) return more;
  const at = start === "unclear" ? text.length : start;
  const tag = tagAt(text, at);
  if (tag === "unclear") return place.isEnd ? none : more;
  if (tag?.kind === "function") return taggedBody(text, at, tag.raw, place);
  if (text[at] === "{" || text[at] === "[") return bracketedBody(text, at, place);
  return namedBody(text, at, place);
}

/** Past spaces and tokens that only separate. Also past the fence that DeepSeek's template has around arguments. */
function skipped(text: string, from: number): number | "unclear" {
  for (let at = from; ; ) {
    const [space = ""] = /^\s*(?:```(?:json)?(?=\s|\{)\s*)?/.exec(text.slice(at, at + 200)) ?? [];
    at += space.length;
    if (at >= text.length || /^(?:`{1,3}|```[a-z]{1,4})$/.test(text.slice(at, at + 8))) return "unclear";
    const tag = tagAt(text, at);
    if (tag === "unclear") return "unclear";
    if (tag === undefined || !["call", "special"].includes(tag.kind) || tag.raw.startsWith("</")) return at;
    at += tag.raw.length;
    // Mistral's id of a call.
    if (tag.raw === "[CALL_ID]") at += /^\w*/.exec(text.slice(at, at + 40))?.[0].length ?? 0;
  }
}

function bracketedBody(text: string, at: number, place: BodyPlace): Body {
  const balance = place.balances.get(at) ?? { at, open: [], quote: "" };
  place.balances.set(at, balance);
  const end = balancedEnd(text, balance);
  if (end === undefined && !place.isEnd) return more;
  // Small models forget the last brace of all, when the arguments are whole.
  const isOneShort = end === undefined && balance.quote === "" && balance.open.join("") === "{";
  if (end === undefined && !isOneShort) return none;
  const written = end === undefined ? `${text.slice(at).trimEnd()}}` : text.slice(at, end);
  const calls = callsOf(written, place);
  return calls === undefined ? none : { type: "calls", calls, end: end ?? text.length };
}

function callsOf(written: string, place: BodyPlace): WrittenCall[] | undefined {
  const value = readValue(written);
  if (place.name !== undefined) return isJsonObject(value) ? [inputOf(place.name, value)] : undefined;
  if (value === undefined) return pythonCalls(written, place);
  const values = listed(value);
  const calls = values.map((each) => callOf(each, place));
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function listed(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (!isJsonObject(value)) return [value];
  const { tool_calls: calls, ...rest } = value;
  return Array.isArray(calls) && Object.keys(rest).length === 0 ? calls : [value];
}

function callOf(value: unknown, place: BodyPlace): WrittenCall | undefined {
  if (!isJsonObject(value)) return undefined;
  if (isJsonObject(value.function)) {
    return hasOnly(value, ["function", ...otherKeys]) ? plainCallOf(value.function, place) : undefined;
  }
  const [[name, input] = ["", null], ...others] = Object.entries(value);
  const isNamedByKey = place.isTagged && others.length === 0 && isJsonObject(input) && place.known.has(name);
  return isNamedByKey ? inputOf(name, input) : plainCallOf(value, place);
}

function plainCallOf(value: JsonObject, { known, isTagged }: BodyPlace): WrittenCall | undefined {
  // Other keys, such as a description, mean that the object describes a tool.
  if (!hasOnly(value, [...nameKeys, ...inputKeys, ...otherKeys])) return undefined;
  const names = nameKeys.flatMap((key) => (value[key] === undefined ? [] : [value[key]]));
  const inputs = inputKeys.filter((key) => value[key] !== undefined);
  const [written, inputKey] = [names[0], inputs[0]];
  if (names.length !== 1 || inputs.length > 1 || typeof written !== "string" || written === "") return undefined;
  const name = plainName(written, known);
  // Without a tag around it, an object with a name alone is any object.
  if (inputKey === undefined) return isTagged ? { name, inputJson: "" } : undefined;
  const input = value[inputKey];
  const isKnown = isTagged || known.has(name) || (inputKey === "arguments" && isJsonObject(input) && isToolName(name));
  if (!isKnown || isSchema(input, known.get(name))) return undefined;
  return inputOf(name, input);
}

/** An object with such a name and `arguments` is meant as a call, even if there is no such tool: the model is then told so. */
export function isToolName(name: string): boolean {
  return /^[a-z][\w.:-]{0,60}$/.test(name);
}

/** The answer's reader judges empty and malformed arguments. */
function inputOf(name: string, input: unknown): WrittenCall {
  return { name, inputJson: input === null ? "" : typeof input === "string" ? input : JSON.stringify(input) };
}

/** Without what templates put before the name, or behind it. */
export function plainName(written: string, known: KnownTools): string {
  if (known.has(written)) return written;
  const plain = written.replace(/^(?:functions?|default_api)\.|^call:/, "").replace(/:\d+$/, "");
  return known.has(plain) ? plain : written.startsWith("functions.") || written.startsWith("call:") ? plain : written;
}

/** True for a schema of arguments, unless the tool takes such a thing. */
function isSchema(input: unknown, schema: JsonSchema | undefined): boolean {
  if (!isJsonObject(input) || input.type !== "object" || !isJsonObject(input.properties)) return false;
  return propertiesOf(schema).properties === undefined;
}

function hasOnly(value: JsonObject, keys: readonly string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}

function propertiesOf(schema: JsonSchema | undefined): JsonObject {
  const own: unknown = schema?.properties;
  return isJsonObject(own) ? own : {};
}

function pythonCalls(written: string, place: BodyPlace): WrittenCall[] | undefined {
  const calls = readPythonCalls(written)?.map((call) => pythonCall(call, place));
  return calls !== undefined && calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function pythonCall({ name: written, positional, named }: PythonCall, place: BodyPlace): WrittenCall | undefined {
  const name = plainName(written, place.known);
  if (!place.isTagged && !place.known.has(name)) return undefined;
  const keys = Object.keys(propertiesOf(place.known.get(name)));
  const [first, ...others] = positional;
  if (isJsonObject(first) && others.length === 0 && Object.keys(named).length === 0) return inputOf(name, first);
  if (positional.length > keys.length) return undefined;
  return inputOf(name, { ...Object.fromEntries(positional.map((value, index) => [keys[index], value])), ...named });
}

const writtenName = /(?:call:)?[A-Za-z_][\w.-]*(?::\d+)?/y;

/** The name in a call that can't be read, or whose end is missing. */
export function toolNameIn(text: string): string | undefined {
  return /["']?(?:name|tool|tool_name|function)["']?\s*:\s*["']([^"'\\]+)["']|<(?:function|invoke|tool|use_tool|call_tool)(?:=|\s+name=)["']?([\w.-]+)/
    .exec(text)
    ?.slice(1)
    .find((name) => name !== undefined);
}

/** A name, then what it gets. DeepSeek's first word is the kind of the call. */
function namedBody(text: string, at: number, place: BodyPlace): Body {
  if (place.name !== undefined) return none;
  writtenName.lastIndex = at;
  const [name = ""] = writtenName.exec(text) ?? [];
  if (name === "") return none;
  const after = at + name.length;
  if (/^:?$/.test(text.slice(after, after + 2)) && !place.isEnd) return more;
  if (text[after] === "(") return pythonBody(text, at, place);
  const start = skipped(text, after);
  if (start === "unclear" && !place.isEnd) return more;
  const next = start === "unclear" ? text.length : start;
  if (name === "function" && next > after && /[A-Za-z_]/.test(text[next] ?? "")) return namedBody(text, next, place);
  const named = plainName(name, place.known);
  if (!place.isTagged && !place.known.has(named)) return none;
  if (text[next] === "{") return bracketedBody(text, next, { ...place, name: named });
  if (/^<(?:arg_key|parameter|param)\b/.test(text.slice(next, next + 12))) {
    return parameters(text, next, named, endOfCall, place);
  }
  if ("<arg_key".startsWith(text.slice(next, next + 12)) && !place.isEnd) return more;
  const isAlone = endOfCall.test(text.slice(next, next + 60)) || (place.isEnd && next >= text.length);
  return isAlone && place.known.has(named)
    ? { type: "calls", calls: [{ name: named, inputJson: "" }], end: next }
    : none;
}

function pythonBody(text: string, at: number, place: BodyPlace): Body {
  const open = text.indexOf("(", at);
  const balance = place.balances.get(open) ?? { at: open, open: [], quote: "" };
  place.balances.set(open, balance);
  const end = balancedEnd(text, balance);
  if (end === undefined) return place.isEnd ? none : more;
  const calls = pythonCalls(text.slice(at, end), place);
  return calls === undefined ? none : { type: "calls", calls, end };
}

const endOfCall = /^\s*<\/(?:[a-z]{1,12}:|｜DSML｜)?(?:tool_calls?|function_calls?)>|^\s*<[|｜][\w▁]*end[|｜]>/;
const endOfFunction = /<\/(?:[a-z]{1,12}:|｜DSML｜)?(?:function|invoke)>|^\s*<\/tool_call>/;

/** What stands between the tags of a function: an object, or parameters as tags. */
function taggedBody(text: string, at: number, raw: string, place: BodyPlace): Body {
  const [, equal, quoted] = /=\s*(?:"([^"]*)"|'[^']*'|([^\s>]+))/.exec(raw.replace(/^<[^\s=]*\s+name/, "")) ?? [];
  const name = plainName((equal ?? quoted ?? "").replace(/^'|'$/g, ""), place.known);
  const start = at + raw.length;
  const inTag = attributeCall(raw, place);
  if (inTag !== undefined) return { type: "calls", calls: [inTag], end: start };
  const content = /\S/.exec(text.slice(start))?.index ?? -1;
  if (content === -1 && !place.isEnd) return more;
  if (text[start + content] === "{") {
    const body = bracketedBody(text, start + content, { ...place, name });
    if (body.type !== "none") return body;
  }
  return parameters(text, start, name, endOfFunction, place);
}

/** `<tool name="look_up" arguments='{"place": "Rome"}'/>` */
function attributeCall(raw: string, { known }: BodyPlace): WrittenCall | undefined {
  const [all, , written = ""] = /\s(?:arguments|args|input|parameters)\s*=\s*(["']?)(\{.*\})\1/.exec(raw) ?? [];
  const input = all === undefined ? undefined : readValue(written);
  if (!isJsonObject(input)) return undefined;
  const names = [...raw.replace(all ?? "", "").matchAll(/\s(?:name|tool|function)\s*=\s*["']?([\w.-]+)/g)];
  const name = names.map(([, each = ""]) => plainName(each, known)).find((each) => known.has(each));
  return name === undefined ? undefined : inputOf(name, input);
}

function parameters(text: string, from: number, name: string, ending: RegExp, place: BodyPlace): Body {
  const found = parametersIn(text, from, ending, place.isEnd, propertiesOf(place.known.get(name)));
  if (found === "more") return more;
  return found === undefined || name === ""
    ? none
    : { type: "calls", calls: [inputOf(name, found.input)], end: found.end };
}
