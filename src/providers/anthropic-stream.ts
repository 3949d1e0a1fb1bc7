/** Reads one answer of Anthropic's Messages API: text, tool calls, and the thinking blocks to send back. */
import type Anthropic from "@anthropic-ai/sdk";
import { isJsonObject, parseJson, textLengthIn } from "../lib/json.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ModelToolCall, StopReason, Usage } from "../ports/provider.ts";
import { endingWhole, harderReason, stopOf } from "./answer-end.ts";
import { nameIn } from "./answer-fields.ts";
import { createAnswerBlocks } from "./anthropic-thinking.ts";
import { failure } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import type { RefusalWords, StreamPiece } from "./guarded-stream.ts";
import { tokensIn } from "./reported-usage.ts";

/** No call is passed on before the reason of the end, because it may say that nothing of the answer counts. */
export async function* readAnswer(
  stream: AsyncIterable<Anthropic.RawMessageStreamEvent>,
  place: ProviderPlace,
  mark: () => string,
  { showsThinking, onUsage }: { showsThinking: boolean; onUsage(usage: Usage): void },
): AsyncGenerator<StreamPiece> {
  const calls = new Map<number, ModelToolCall>();
  const open = new Set<number>();
  const blocks = createAnswerBlocks();
  const paragraphs = createParagraphs(showsThinking);
  const usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let reason = "";
  let hasEnded = false;
  let why: RefusalWords = {};

  function* ending(said: string): Generator<StreamPiece> {
    // Without tools of the service, there is nothing that `pause_turn` would wait for, so it is a break like words of later versions.
    const stop = stopOf(place, said, calls.size > 0);
    if (stop === "refusal") {
      yield { type: "refusal", usage, ...why };
      return;
    }
    // Of a call that is still open, nothing says that its arguments are whole, unless they look so. At the limit, the last never runs.
    const isCut = ([index, call]: [number, ModelToolCall]) =>
      open.has(index) && !isJsonObject(parseJson(call.inputJson));
    if ([...calls].slice(0, stop === "max-tokens" ? -1 : undefined).some(isCut)) throw failure(place, "cut");
    for (const call of calls.values()) yield { type: "tool-call", ...call };
    yield endPiece(stop, usage, place.model, blocks.carry(mark));
  }

  // Gateways leave out the last event, or the end of the stream.
  for await (const given of endingWhole(stream, place, () => reason !== "")) {
    const event = readable(given);
    switch (event.type) {
      case "message_start":
        count(usage, event.message?.usage);
        onUsage(usage);
        break;
      case "content_block_start":
        blocks.start(event.index, event.content_block);
        open.add(event.index);
        if (event.content_block.type === "tool_use") calls.set(event.index, startedCall(event.content_block));
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
        reason = harderReason(reason, event.delta?.stop_reason);
        why = refusalWords(event.delta?.stop_details) ?? why;
        count(usage, event.usage);
        onUsage(usage);
        break;
      case "message_stop":
        hasEnded = true;
        // Some servers give no reason. Then what is still open was cut.
        if (reason === "" && open.size > 0) throw failure(place, "cut");
        yield* ending(reason || "end_turn");
        break;
      default:
        // Ignore event types newer than this SDK.
        event satisfies never;
    }
  }
  if (!hasEnded && reason !== "") yield* ending(reason);
}

/** Gateways leave out what an event is about, or send null for it. Text is text, and arguments may come as an object. */
function readable(given: Anthropic.RawMessageStreamEvent): Anthropic.RawMessageStreamEvent {
  const event: JsonObject = isJsonObject(given) ? { ...given } : {};
  for (const name of ["content_block", "delta"]) {
    if (!(name in event) && !(event.type === "content_block_start" || event.type === "content_block_delta")) continue;
    const part: JsonObject = isJsonObject(event[name]) ? { ...event[name] } : {};
    for (const field of textFields) if (field in part && typeof part[field] !== "string") part[field] = "";
    if (isJsonObject(part.partial_json)) part.partial_json = JSON.stringify(part.partial_json);
    else if ("partial_json" in part && typeof part.partial_json !== "string") part.partial_json = "";
    event[name] = part;
  }
  return event as unknown as Anthropic.RawMessageStreamEvent;
}

const textFields = ["text", "thinking", "signature", "id", "name"];

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
      if (isThought && !isForPeople) return { type: "thinking", length: textLengthIn(part), hidden: text };
      if (text === "") return { type: "progress", length: textLengthIn(part), hidden: argumentsIn(part) };
      const isApart = before !== undefined && before.index !== index && (isThought || before.isThought);
      before = { index, isThought };
      return { type: "text-delta", text: isApart ? `\n\n${text}` : text };
    },
  };
}

function argumentsIn(part: object): string {
  return "partial_json" in part && typeof part.partial_json === "string" ? part.partial_json : "";
}

/** Arguments usually follow in pieces, but some compatible servers send them completely at the start. */
function startedCall(block: Anthropic.ToolUseBlock): ModelToolCall {
  const whole = JSON.stringify(block.input ?? {});
  return { id: nameIn(block.id), name: nameIn(block.name), inputJson: whole === "{}" ? "" : whole };
}

type WireUsage = Partial<Record<keyof Anthropic.MessageDeltaUsage | keyof Anthropic.Usage, unknown>>;

/** Counts in `message_delta` are totals and replace those of `message_start`. */
function count(usage: Usage, wire: WireUsage | undefined): void {
  if (!wire) return;
  const { input_tokens: input, output_tokens: output } = wire;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, cache_creation: lives } = wire;
  usage.inputTokens = tokensIn(input ?? usage.inputTokens);
  usage.outputTokens = tokensIn(output ?? usage.outputTokens);
  usage.cacheReadTokens = tokensIn(read ?? usage.cacheReadTokens);
  usage.cacheWriteTokens = tokensIn(written ?? usage.cacheWriteTokens);
  const hour = isJsonObject(lives) ? tokensIn(lives.ephemeral_1h_input_tokens) : 0;
  if (hour > 0) usage.cacheWriteHourTokens = hour;
}

const categories: Readonly<Record<string, string>> = {
  cyber: "cyber security",
  bio: "biology",
  frontier_llm: "training of AI models",
  reasoning_extraction: "how the model thinks",
  general_harms: "possible harm",
};

/** A service may name no category, and models have ones of later versions. */
function refusalWords(details: Anthropic.RefusalStopDetails | null | undefined): RefusalWords | undefined {
  const category: unknown = details?.category;
  const explanation: unknown = details?.explanation;
  if (typeof category !== "string" || category.trim() === "")
    return typeof explanation === "string" && explanation !== "" ? { said: explanation } : undefined;
  const known = Object.hasOwn(categories, category) ? categories[category] : undefined;
  if (known !== undefined) return { note: `its safety filter: ${known}` };
  return { note: "its safety filter:", said: category.replaceAll("_", " ") };
}
