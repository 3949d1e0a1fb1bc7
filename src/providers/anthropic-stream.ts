/** Reads one answer of Anthropic's Messages API: text, tool calls, and the thinking blocks to send back. */
import type Anthropic from "@anthropic-ai/sdk";
import { textLengthIn } from "../lib/json.ts";
import type { Json } from "../ports/message.ts";
import type { StopReason, Usage } from "../ports/provider.ts";
import { endingWhole, stopOf } from "./answer-end.ts";
import { createAnswerBlocks } from "./anthropic-thinking.ts";
import { failure } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import type { StreamPiece } from "./guarded-stream.ts";

/** No call is passed on before the reason of the end, because it may say that nothing of the answer counts. */
export async function* readAnswer(
  stream: AsyncIterable<Anthropic.RawMessageStreamEvent>,
  place: ProviderPlace,
  mark: () => string,
  showsThinking: boolean,
): AsyncGenerator<StreamPiece> {
  const calls = new Map<number, { id: string; name: string; inputJson: string }>();
  const open = new Set<number>();
  const blocks = createAnswerBlocks();
  const paragraphs = createParagraphs(showsThinking);
  const usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let reason: string | undefined;
  let hasEnded = false;
  let why = "";

  function* ending(said: string): Generator<StreamPiece> {
    // Without tools of the service, there is nothing that `pause_turn` would wait for, so it is a break like words of later versions.
    const stop = stopOf(place, said, calls.size > 0);
    if (stop === "refusal") {
      yield { type: "refusal", usage, why };
      return;
    }
    for (const call of calls.values()) yield { type: "tool-call", ...call };
    yield endPiece(stop, usage, place.model, blocks.carry(mark));
  }

  // Gateways leave out the last event, or the end of the stream.
  for await (const event of endingWhole(stream, place, () => reason !== undefined)) {
    switch (event.type) {
      case "message_start":
        count(usage, event.message.usage);
        break;
      case "content_block_start":
        blocks.start(event.index, event.content_block);
        if (event.content_block.type === "tool_use") {
          calls.set(event.index, startedCall(event.content_block));
          open.add(event.index);
        }
        if (event.content_block.type === "thinking")
          yield { type: "thinking", length: textLengthIn(event.content_block) };
        else yield paragraphs.of(event.index, shownIn(event.content_block), event.content_block);
        break;
      case "content_block_delta": {
        const call = calls.get(event.index);
        blocks.add(event.index, event.delta);
        yield paragraphs.of(event.index, shownIn(event.delta), event.delta);
        if (event.delta.type === "input_json_delta" && call !== undefined) call.inputJson += event.delta.partial_json;
        break;
      }
      case "content_block_stop":
        open.delete(event.index);
        yield { type: "progress" };
        break;
      case "message_delta":
        reason = event.delta?.stop_reason ?? reason;
        why = refusalText(event.delta?.stop_details) || why;
        count(usage, event.usage);
        break;
      case "message_stop":
        hasEnded = true;
        // Some servers give no reason. Then a call that is still open was cut.
        if (reason === undefined && open.size > 0) throw failure(place, "cut");
        yield* ending(reason ?? "end_turn");
        break;
      default:
        // Ignore event types newer than this SDK.
        event satisfies never;
    }
  }
  if (!hasEnded && reason !== undefined) yield* ending(reason);
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
    of(index: number, { text, isThought }: { text: string; isThought: boolean }, part: object): StreamPiece {
      if (isThought && !isForPeople) return { type: "thinking", length: textLengthIn(part) };
      if (text === "") return { type: "progress", length: textLengthIn(part) };
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
