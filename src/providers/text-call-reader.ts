/** Holds back streamed text that may become a tool call, until it is one or can't be one any more. */
import type { ModelRequest, ModelToolCall } from "../ports/provider.ts";
import { fenceLabels, firstKeys, type KnownTools, openingTag, textToolCalls, toolNameIn } from "./text-tool-call.ts";

export interface TextCallReader {
  /** Returns the text that people may see now. */
  add(text: string): string;
  /** At the end of the text, returns what was held back: as calls, or as text for people. */
  end(isCut: boolean): { text: string; calls: ModelToolCall[] };
}

/** Also knows the tools of earlier calls: a model that may use no more tools still writes such calls. */
export function createTextCallReader(request: Pick<ModelRequest, "tools" | "named" | "messages">): TextCallReader {
  const { tools, named = [], messages } = request;
  const known: KnownTools = new Map([
    ...messages.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map(({ name }) => [name, undefined] as const) : [],
    ),
    ...[...tools, ...named].map(({ name, parameters }) => [name, parameters] as const),
  ]);
  let held = "";
  let state: Start = known.size === 0 ? "text" : "unclear";

  return {
    add(text) {
      held += text;
      if (state === "unclear") state = startOf(held);
      if (state !== "text") return "";
      const visible = held;
      held = "";
      return visible;
    },
    end(isCut) {
      const text = held;
      held = "";
      const isCall = state === "call";
      state = "text";
      const calls = isCall ? textToolCalls(text, known) : undefined;
      if (calls !== undefined) return { text: "", calls };
      // The output limit ended the call, so the model is told to repeat it.
      const name = isCall && isCut ? toolNameIn(text, known) : undefined;
      return name === undefined ? { text, calls: [] } : { text: "", calls: [{ id: "call_1", name, inputJson: text }] };
    },
  };
}

/** What the beginning of a text says: surely not a call, perhaps a call, or still both. */
type Start = "text" | "call" | "unclear";

const fence = "```";

function startOf(text: string): Start {
  const start = text.trimStart();
  if (openingTag.startsWith(start) || fence.startsWith(start)) return "unclear";
  if (start.startsWith(openingTag)) return "call";
  return start.startsWith(fence) ? startOfFenced(start.slice(fence.length)) : startOfValue(start);
}

function startOfFenced(text: string): Start {
  const [label = ""] = /^\w*/.exec(text) ?? [];
  const lower = label.toLowerCase();
  if (label.length === text.length) return fenceLabels.some((known) => known.startsWith(lower)) ? "unclear" : "text";
  return fenceLabels.includes(lower) ? startOfValue(text.slice(label.length)) : "text";
}

function startOfValue(text: string): Start {
  const start = text.trimStart();
  const inList = start.startsWith("[") ? start.slice(1).trimStart() : start;
  if (inList === "") return "unclear";
  if (!inList.startsWith("{")) return "text";
  const inObject = inList.slice(1).trimStart();
  if (inObject === "") return "unclear";
  if (!inObject.startsWith('"')) return "text";
  const key = inObject.slice(1);
  const end = key.indexOf('"');
  if (end >= 0) return firstKeys.includes(key.slice(0, end)) ? "call" : "text";
  return firstKeys.some((known) => known.startsWith(key)) ? "unclear" : "text";
}
