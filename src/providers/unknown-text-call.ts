/**
 * An answer that is nothing but a call of a tool that does not exist, as JSON. It goes on as a call, so that the model is told, and
 * people don't read it. Calls of known tools are taken out before (text-call-reader.ts). Whoever asks for JSON gets it.
 */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { ModelRequest, ModelToolCall } from "../ports/provider.ts";
import type { ReadText } from "./shown-text.ts";
import { asksForCalls, type TextCallReader } from "./text-call-reader.ts";

const nameKeys = ["name", "tool", "tool_name", "function", "function_name", "action"];
const inputKeys = ["arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs"];
const otherKeys = ["id", "type", "index"];
const keys = [...nameKeys, ...inputKeys, ...otherKeys, "tool_calls"];

/** The beginning of JSON whose first key is one of a call, as far as it has come. */
const start = /^\s*(?:`{0,3}$|```(?:\w*$|\w*\s+))?(?:$|\[?\s*(?:$|\{\s*(?:$|"(\w*)("?))))/;
const fence = /^```\w*\s+([\s\S]*?)```$/;

/** Reads what `known` leaves as text. */
export function withUnknownCalls(
  known: TextCallReader,
  request: Pick<ModelRequest, "tools" | "named" | "messages">,
): TextCallReader {
  let held = "";
  let isText = request.tools.length === 0 || asksForCalls(request);

  function add({ isNew, text }: ReadText): ReadText {
    held = isNew ? text : held + text;
    isText ||= !mayBeCall(held);
    if (!isText) return { isNew, text: "" };
    const shown = held;
    held = "";
    return { isNew, text: shown };
  }

  return {
    thinksApart: known.thinksApart,
    isOver: known.isOver,
    add: (text) => add(known.add(text)),
    end(isCut) {
      const { calls, ...last } = known.end(isCut);
      const { isNew, text } = add(last);
      const shown = { isNew, text: text + held };
      const unknown = held === "" ? undefined : callsIn(parseJson(held.trim().replace(fence, "$1")));
      held = "";
      isText = true;
      return unknown === undefined || unknown.length === 0
        ? { ...shown, calls }
        : { isNew, text: "", calls: [...calls, ...unknown] };
    },
  };
}

function mayBeCall(text: string): boolean {
  const [all, key = "", end] = start.exec(text) ?? [];
  if (all === undefined) return false;
  return end === '"' ? keys.includes(key) : keys.some((known) => known.startsWith(key));
}

/** Undefined if the value is anything else, or has anything more. */
function callsIn(value: unknown): ModelToolCall[] | undefined {
  const listed = isJsonObject(value) && hasOnly(value, ["tool_calls"]) ? value.tool_calls : value;
  const values = Array.isArray(listed) ? listed : [listed];
  const calls = values.map((each, index) => callOf(each, `call_${index + 1}`));
  return calls.every((call) => call !== undefined) ? calls : undefined;
}

function callOf(value: unknown, id: string): ModelToolCall | undefined {
  if (!isJsonObject(value)) return undefined;
  if (isJsonObject(value.function))
    return hasOnly(value, ["function", ...otherKeys]) ? callOf(value.function, id) : undefined;
  const names = nameKeys.filter((key) => key in value);
  const inputs = inputKeys.filter((key) => key in value);
  const [name, input] = [value[names[0] ?? ""], value[inputs[0] ?? ""]];
  const isCall = names.length === 1 && inputs.length === 1 && hasOnly(value, [...names, ...inputs, ...otherKeys]);
  if (!isCall || typeof name !== "string" || !/^[\w.:/-]{1,100}$/.test(name) || isSchema(input)) return undefined;
  return { id, name, inputJson: typeof input === "string" ? input : JSON.stringify(input) };
}

/** What describes a tool is no call of it. */
function isSchema(input: unknown): boolean {
  return isJsonObject(input) && input.type === "object" && isJsonObject(input.properties);
}

function hasOnly(value: object, known: readonly string[]): boolean {
  return Object.keys(value).every((key) => known.includes(key));
}
