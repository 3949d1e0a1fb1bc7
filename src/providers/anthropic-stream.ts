/** Reads one answer of Anthropic's Messages API: text, tool calls, and the thinking blocks to send back. */
import type Anthropic from "@anthropic-ai/sdk";
import type { Json } from "../ports/message.ts";
import type { StopReason, Usage } from "../ports/provider.ts";
import { createAnswerBlocks } from "./anthropic-thinking.ts";
import type { StreamPiece } from "./guarded-stream.ts";

export async function* readAnswer(
  stream: AsyncIterable<Anthropic.RawMessageStreamEvent>,
  model: string,
  mark: () => string,
  showsThinking: boolean,
): AsyncGenerator<StreamPiece> {
  const calls = new Map<number, { id: string; name: string; inputJson: string }>();
  const blocks = createAnswerBlocks();
  const paragraphs = createParagraphs(showsThinking);
  const usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let stop: StopReason | "refusal" = "end";
  let why = "";
  for await (const event of stream) {
    switch (event.type) {
      case "message_start":
        count(usage, event.message.usage);
        break;
      case "content_block_start":
        blocks.start(event.index, event.content_block);
        if (event.content_block.type === "tool_use") calls.set(event.index, startedCall(event.content_block));
        else if (event.content_block.type === "thinking") yield { type: "thinking" };
        else yield paragraphs.of(event.index, shownIn(event.content_block));
        break;
      case "content_block_delta": {
        const open = calls.get(event.index);
        blocks.add(event.index, event.delta);
        yield paragraphs.of(event.index, shownIn(event.delta));
        if (event.delta.type === "input_json_delta" && open !== undefined) open.inputJson += event.delta.partial_json;
        break;
      }
      case "content_block_stop": {
        const done = calls.get(event.index);
        calls.delete(event.index);
        if (done !== undefined) yield { type: "tool-call", ...done };
        break;
      }
      case "message_delta":
        stop = stopReason(event.delta.stop_reason);
        why = refusalText(event.delta.stop_details);
        count(usage, event.usage);
        break;
      case "message_stop":
        if (stop === "refusal") {
          yield { type: "refusal", usage, why };
          break;
        }
        // If the answer reached the output limit, a block may still be open.
        for (const left of calls.values()) yield { type: "tool-call", ...left };
        yield endPiece(stop, usage, model, blocks.carry(mark));
        break;
      default:
        // Ignore event types newer than this SDK.
        event satisfies never;
    }
  }
}

function endPiece(stop: StopReason, usage: Usage, model: string, carry: Json | undefined): StreamPiece {
  return { type: "end", stop, usage, model: `anthropic/${model}`, ...(carry === undefined ? {} : { carry }) };
}

function shownIn(part: Anthropic.ContentBlock | Anthropic.RawContentBlockDelta): { text: string; isThought: boolean } {
  if (part.type === "text" || part.type === "text_delta") return { text: part.text ?? "", isThought: false };
  if (part.type === "thinking_delta") return { text: part.thinking, isThought: true };
  return { text: "", isThought: false };
}

/** Passes on text, and thinking for people as separate paragraphs. Drops other thinking. */
function createParagraphs(isForPeople: boolean) {
  let before: { index: number; isThought: boolean } | undefined;
  return {
    of(index: number, { text, isThought }: { text: string; isThought: boolean }): StreamPiece {
      if (isThought && !isForPeople) return { type: "thinking" };
      if (text === "") return { type: "progress" };
      const isApart = before !== undefined && before.index !== index && (isThought || before.isThought);
      before = { index, isThought };
      return { type: "text-delta", text: isApart ? `\n\n${text}` : text };
    },
  };
}

/** Arguments usually follow in pieces, but some compatible servers send them completely at the start. */
function startedCall(block: Anthropic.ToolUseBlock): { id: string; name: string; inputJson: string } {
  const whole = JSON.stringify(block.input ?? {});
  return { id: block.id, name: block.name, inputJson: whole === "{}" ? "" : whole };
}

type WireUsage = Partial<Record<keyof Anthropic.MessageDeltaUsage, unknown>>;

/** Counts in `message_delta` are totals and replace those of `message_start`. */
function count(usage: Usage, wire: WireUsage | undefined): void {
  if (wire === undefined) return;
  if (typeof wire.input_tokens === "number") usage.inputTokens = wire.input_tokens;
  if (typeof wire.output_tokens === "number") usage.outputTokens = wire.output_tokens;
  if (typeof wire.cache_read_input_tokens === "number") usage.cacheReadTokens = wire.cache_read_input_tokens;
  if (typeof wire.cache_creation_input_tokens === "number") usage.cacheWriteTokens = wire.cache_creation_input_tokens;
}

const categories: Readonly<Record<string, string>> = {
  cyber: "cyber security",
  bio: "biology",
  frontier_llm: "training of AI models",
  reasoning_extraction: "how the model thinks",
  general_harms: "possible harm",
};

/** A service may name no category, and models have ones of later versions. */
function refusalText(details: Anthropic.RefusalStopDetails | null | undefined): string {
  const category: string | undefined = details?.category ?? undefined;
  if (category === undefined) return details?.explanation ?? "";
  return `its safety filter: ${categories[category] ?? category.replaceAll("_", " ")}`;
}

function stopReason(reason: Anthropic.StopReason | null): StopReason | "refusal" {
  switch (reason) {
    case "tool_use":
      return "tool-calls";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "max-tokens";
    case "refusal":
      return "refusal";
    default:
      return "end";
  }
}
