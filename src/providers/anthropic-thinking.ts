/**
 * Handles the thinking of Claude models, and how it is sent back to them: in the turn, and later, because current models keep what
 * they thought in earlier turns, and a prompt without it would not be read from the cache.
 *
 * For some accounts the service answers 400 unless thinking is sent back unchanged, in order, to the model that
 * produced it, after exactly the same input. For other accounts it ignores thinking that does not match. But the input
 * may change within a turn: people send messages, results are shortened, tools reach their limit. So the state includes
 * a hash of the input, and thinking with another hash is left out.
 */
import { createHash } from "node:crypto";
import type Anthropic from "@anthropic-ai/sdk";
import { isJsonObject } from "../lib/json.ts";
import type { Json } from "../ports/message.ts";
import type { ModelMessage } from "../ports/provider.ts";
import { inputOf, wireName } from "./request-mapping.ts";

type Thinking = Anthropic.ThinkingBlockParam | Anthropic.RedactedThinkingBlockParam;
/** A block of an answer. The calls themselves are in the message, in the same order. */
type CarriedBlock = Thinking | { type: "text"; text: string } | { type: "call" };

const carryKind = "anthropic-messages";

interface AnswerBlocks {
  start(index: number, block: Anthropic.ContentBlock): void;
  add(index: number, delta: Anthropic.RawContentBlockDelta): void;
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
      // Drop thinking without a signature: the output limit has truncated it.
      const last = kept.at(-1);
      if (last?.type === "thinking" && !last.signature) kept.pop();
      if (!kept.some(isThinking)) return undefined;
      return { kind: carryKind, lasts: true, after: mark(), blocks: kept.map((block) => ({ ...block })) };
    },
  };
}

function isThinking(block: CarriedBlock): block is Thinking {
  return block.type === "thinking" || block.type === "redacted_thinking";
}

export interface Prefix {
  /**
   * Returns a hash of everything sent up to and including the last of `messages`. Each call must pass the earlier
   * messages again, followed by new ones.
   */
  mark(messages: readonly Anthropic.MessageParam[]): string;
}

/** Hashes the input without cache breakpoints, because they do not affect the model. */
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

/** Returns the complete answer, including its thinking, or undefined if only text and calls may be sent. */
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
