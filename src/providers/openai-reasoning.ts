/**
 * Carries a model's reasoning from one step of a turn to the next, for OpenAI's Responses API. The service stores nothing for us, so only
 * encrypted reasoning can be sent back. It ignores reasoning that no longer matches its input.
 */
import type OpenAI from "openai";
import { isJsonObject } from "../lib/json.ts";
import type { Json } from "../ports/message.ts";
import type { ModelMessage } from "../ports/provider.ts";
import { inputOf, wellFormed, wireName } from "./request-mapping.ts";

type InputItem = OpenAI.Responses.ResponseInputItem;
type Reasoning = OpenAI.Responses.ResponseReasoningItem;
/** `phase`: whether the text is commentary or the answer. Must be sent back to the model. */
type Said = { type: "message"; text: string; phase?: "commentary" | "final_answer" };
/** The calls themselves are in the message, in the same order. */
type CarriedItem = Reasoning | Said | { type: "call" };

const carryKind = "openai-responses";

interface ReasoningItems {
  add(item: OpenAI.Responses.ResponseOutputItem): void;
  /** `last`: the items of the last event, for services that have none before. */
  carry(last: readonly OpenAI.Responses.ResponseOutputItem[]): Json | undefined;
}

export function createReasoningItems(): ReasoningItems {
  const items: CarriedItem[] = [];

  function add(item: OpenAI.Responses.ResponseOutputItem): void {
    if (item.type === "reasoning" && item.encrypted_content) items.push(item);
    if (item.type === "function_call") items.push({ type: "call" });
    if (item.type === "message") items.push(saidIn(item));
  }

  return {
    add,
    carry(last) {
      if (items.length === 0) last.forEach(add);
      // Drop reasoning at the end, because the service refuses it if nothing follows.
      const kept = items.slice(0, items.findLastIndex((item) => item.type !== "reasoning") + 1);
      if (!kept.some((item) => item.type === "reasoning" || "phase" in item)) return undefined;
      // Copy as plain JSON so that fields of a later API version are sent back too.
      return { kind: carryKind, items: JSON.parse(JSON.stringify(kept)) };
    },
  };
}

function saidIn(item: OpenAI.Responses.ResponseOutputMessage): Said {
  const text = (item.content ?? []).map((part) => (part.type === "output_text" ? part.text : part.refusal)).join("");
  return { type: "message", text, ...(item.phase ? { phase: item.phase } : {}) };
}

/** Returns the complete answer, including its reasoning, or undefined if only text and calls may be sent. */
export function carriedItems(
  message: Extract<ModelMessage, { role: "assistant" }>,
  model: string,
): InputItem[] | undefined {
  if (message.carry?.model !== `openai/${model}`) return undefined;
  const { data } = message.carry;
  if (!isJsonObject(data) || data.kind !== carryKind || !Array.isArray(data.items)) return undefined;
  const stored: unknown[] = data.items;
  const items = stored.filter(isCarriedItem);
  const calls = message.toolCalls.map(callItem);
  if (items.filter((item) => item.type === "call").length !== calls.length) return undefined;
  return items.flatMap((item): InputItem[] => {
    if (item.type === "call") return calls.splice(0, 1);
    return item.type === "reasoning" ? [item] : saidItem(item);
  });
}

function isCarriedItem(value: unknown): value is CarriedItem {
  return isJsonObject(value) && ["reasoning", "message", "call"].some((type) => value.type === type);
}

function saidItem({ text, phase }: Said): InputItem[] {
  if (text === "") return [];
  return [{ role: "assistant", content: wellFormed(text), ...(phase === undefined ? {} : { phase }) }];
}

export function callItem(call: { id: string; name: string; inputJson: string }): InputItem {
  return {
    type: "function_call",
    call_id: call.id,
    name: wireName(call.name),
    arguments: JSON.stringify(inputOf(call.inputJson)),
  };
}
