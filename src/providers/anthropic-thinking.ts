/**
 * What Claude's models think within a turn, and how it goes back to them.
 *
 *   thinkingOf            how a model is asked to think
 *   createAnswerBlocks    gathers the blocks of an answer as they came, for the carry
 *   createPrefix          tells what stood before an answer, in a short mark
 *   carriedBlocks         the blocks of an earlier answer, when they may go back
 *
 * The service checks that thinking comes back unchanged, in its order, to the model that produced it, after exactly what
 * stood before it then, and answers anything else with a 400 (for some accounts; for others the thinking is ignored).
 * What stood before may well change in a turn: a message that steers it, results that were shortened, tools that are used
 * up. So the carry holds a mark of it, and thinking whose mark no longer fits is left out.
 */
import { createHash } from "node:crypto";
import type Anthropic from "@anthropic-ai/sdk";
import type { Json } from "../ports/message.ts";
import type { ModelMessage } from "../ports/provider.ts";
import { inputOf, isJsonObject, wireName } from "./request-mapping.ts";

type Thinking = Anthropic.ThinkingBlockParam | Anthropic.RedactedThinkingBlockParam;
/** A block of an answer. Calls stand in the message itself, in the same order. */
type CarriedBlock = Thinking | { type: "text"; text: string } | { type: "call" };

const carryKind = "anthropic-messages";

/**
 * Undefined, which is right for every model that is not known here: older ones then answer without thinking, newer ones
 * think as much as they find right, and none refuses the request.
 *
 * Sonnet 5.5 alone is asked for `between_tools`. By default it puts what it says between tool calls into thinking that
 * comes back empty, so people would see nothing while it works. `display: "summarized"` would bring that back mixed with
 * its reasoning, which is not meant for people, and only a beta tells the two apart; with `between_tools` all that it
 * returns as thinking is meant for them. It also begins to answer at once, as a chat should.
 */
export function thinkingOf(model: string): Anthropic.ThinkingConfigBetweenTools | undefined {
  return /\bclaude-sonnet-5-5\b/.test(model) ? { type: "between_tools" } : undefined;
}

interface AnswerBlocks {
  start(index: number, block: Anthropic.ContentBlock): void;
  add(index: number, delta: Anthropic.RawContentBlockDelta): void;
  /** For the carry; undefined when the model did not think. */
  carry(mark: () => string): Json | undefined;
}

export function createAnswerBlocks(): AnswerBlocks {
  const blocks = new Map<number, CarriedBlock>();
  return {
    start(index, block) {
      if (block.type === "tool_use") blocks.set(index, { type: "call" });
      else if (block.type === "text") blocks.set(index, { type: "text", text: block.text ?? "" });
      else if (block.type === "thinking" || block.type === "redacted_thinking") blocks.set(index, { ...block });
    },
    add(index, delta) {
      const block = blocks.get(index);
      if (block?.type === "text" && delta.type === "text_delta") block.text += delta.text;
      if (block?.type !== "thinking") return;
      if (delta.type === "thinking_delta") block.thinking = (block.thinking ?? "") + delta.thinking;
      if (delta.type === "signature_delta") block.signature = (block.signature ?? "") + delta.signature;
    },
    carry(mark) {
      const ordered = [...blocks].sort(([one], [other]) => one - other).map(([, block]) => block);
      const kept = ordered.filter((block) => block.type !== "text" || block.text.trim() !== "");
      // Thinking that was cut off at the output limit has no signature yet.
      const last = kept.at(-1);
      if (last?.type === "thinking" && !last.signature) kept.pop();
      if (!kept.some(isThinking)) return undefined;
      return { kind: carryKind, after: mark(), blocks: kept.map((block) => ({ ...block })) };
    },
  };
}

function isThinking(block: CarriedBlock): block is Thinking {
  return block.type === "thinking" || block.type === "redacted_thinking";
}

export interface Prefix {
  /** Of all that was sent up to and with the last of `messages`, which only ever grow. */
  mark(messages: readonly Anthropic.MessageParam[]): string;
}

/** Cache breakpoints are no part of what the model reads. */
export function createPrefix(system: Anthropic.TextBlockParam[], tools: Anthropic.Tool[]): Prefix {
  const withoutMarks = (key: string, value: unknown) => (key === "cache_control" ? undefined : value);
  const hash = createHash("sha256");
  let hashed = 0;
  return {
    mark(messages) {
      if (hashed === 0) hash.update(JSON.stringify([system, tools], withoutMarks));
      for (const message of messages.slice(hashed)) hash.update(JSON.stringify(message));
      hashed = messages.length;
      return hash.copy().digest("base64url");
    },
  };
}

/** The whole answer with its thinking in place; undefined: it goes back as text and calls alone. */
export function carriedBlocks(
  message: Extract<ModelMessage, { role: "assistant" }>,
  model: string,
  mark: () => string,
): Anthropic.ContentBlockParam[] | undefined {
  if (message.carry?.model !== `anthropic/${model}`) return undefined;
  const { data } = message.carry;
  if (!isJsonObject(data) || data.kind !== carryKind || !Array.isArray(data.blocks)) return undefined;
  const stored: unknown[] = data.blocks;
  const blocks = stored.filter(isCarriedBlock);
  const calls = message.toolCalls.map(callBlock);
  const isWhole = blocks.filter((block) => block.type === "call").length === calls.length;
  if (!isWhole || data.after !== mark()) return undefined;
  return blocks.flatMap((block): Anthropic.ContentBlockParam[] =>
    block.type === "call" ? calls.splice(0, 1) : [block],
  );
}

function isCarriedBlock(value: unknown): value is CarriedBlock {
  if (!isJsonObject(value)) return false;
  return ["thinking", "redacted_thinking", "text", "call"].some((type) => value.type === type);
}

export function callBlock(call: { id: string; name: string; inputJson: string }): Anthropic.ToolUseBlockParam {
  return { type: "tool_use", id: call.id, name: wireName(call.name), input: inputOf(call.inputJson) };
}
