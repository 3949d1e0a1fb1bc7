/**
 * An answer that is nothing but a call of a tool that does not exist, as JSON. It goes on as a call, so that the model is told, and
 * people don't read it. Calls of known tools are taken out before (text-call-reader.ts). Whoever asks for JSON gets it.
 */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { ModelRequest } from "../ports/provider.ts";
import { asksForCalls } from "./asks-for-calls.ts";
import type { ReadText } from "./shown-text.ts";
import type { TextCallReader } from "./text-call-reader.ts";
import { bodyAt, firstKeys, isToolName, type WrittenCall } from "./text-tool-call.ts";

/** The beginning of JSON whose first key is one of a call, as far as it has come. */
const start = /^\s*(?:`{0,3}$|```(?:\w*$|\w*\s+))?(?:$|\[?\s*(?:$|\{\s*(?:$|"(\w*)("?))))/;
const fence = /^```\w*\s+([\s\S]*?)```[`\s]*$/;

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
    isRepeated: known.isRepeated,
    isOver: known.isOver,
    add: (text) => add(known.add(text)),
    end(isCut) {
      const { calls, ...last } = known.end(isCut);
      const { isNew, text } = add(last);
      const shown = { isNew, text: text + held };
      const names = new Set([...request.tools, ...(request.named ?? [])].map(({ name }) => name));
      const found = held === "" ? undefined : callsIn(held.trim().replace(fence, "$1").trim(), names);
      const unknown = found === undefined || known.isRepeated(found) ? undefined : found;
      held = "";
      isText = true;
      return unknown === undefined || unknown.length === 0
        ? { ...shown, calls }
        : {
            isNew,
            text: "",
            calls: [...calls, ...unknown.map((call, index) => ({ id: `call_${index + 1}`, ...call }))],
          };
    },
  };
}

function mayBeCall(text: string): boolean {
  const [all, key = "", end] = start.exec(text) ?? [];
  if (all === undefined) return false;
  return end === '"' ? firstKeys.includes(key) : firstKeys.some((known) => known.startsWith(key));
}

/** Undefined if the text is anything else, or has anything more. */
function callsIn(text: string, known: ReadonlySet<string>): WrittenCall[] | undefined {
  const body = bodyAt(text, 0, { known: new Map(), isEnd: true, isTagged: true, balances: new Map() });
  if (body.type !== "calls" || body.end !== text.length) return undefined;
  // What the reader of known calls left is no call. Other objects have names, too.
  const areCalls = body.calls.every(
    (call) => !known.has(call.name) && isToolName(call.name) && isInput(call.inputJson),
  );
  return areCalls ? body.calls : undefined;
}

/** An object, or words for the one thing that a tool takes. */
function isInput(inputJson: string): boolean {
  const value = parseJson(inputJson);
  return inputJson !== "" && (value === undefined || isJsonObject(value));
}
