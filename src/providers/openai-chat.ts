/**
 * OpenAI's Chat Completions, as spoken by OpenAI and many compatible servers: the request, and the events of the answer. What
 * came beside text and calls goes back to the same model within the turn (openai-extras.ts).
 */
import type OpenAI from "openai";
import { isJsonObject, textLengthIn } from "../lib/json.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ModelMessage, ModelRequest, Usage } from "../ports/provider.ts";
import { endingWhole, harderReason, stopOf } from "./answer-end.ts";
import { textIn } from "./answer-fields.ts";
import { reportedFailure } from "./classify-failure.ts";
import { errorBodyOf } from "./error-body.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import type { StreamPiece } from "./guarded-stream.ts";
import { cacheKeyFields, markedMessages, markedSystem, markingOf } from "./openai-cache.ts";
import { endUserField, filterText, imageUrlOf, isOpenAiHost, mayReason, serviceOf } from "./openai-client.ts";
import type { Dialect } from "./openai-dialect.ts";
import { createExtras, extrasOf, ownIdsIn } from "./openai-extras.ts";
import { fitted } from "./openai-habits.ts";
import { reportedCost, tokensIn } from "./reported-usage.ts";
import { inputOf, mayCall, systemTextOf, wellFormed, wireName } from "./request-mapping.ts";

type Chunk = OpenAI.ChatCompletionChunk;

export function completionBody(
  request: ModelRequest,
  place: ProviderPlace,
  { limitField, effort, refused, habits, maxOutput }: Dialect,
): OpenAI.ChatCompletionCreateParamsStreaming {
  const { model, baseUrl } = place;
  const marking = markingOf(place, refused);
  const ids = ownIdsIn(request.messages, model);
  return {
    model,
    stream: true,
    ...(refused.has("stream_options") ? {} : { stream_options: { include_usage: true } }),
    ...(isOpenAiHost(baseUrl) && !refused.has("store") ? { store: false } : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...cacheKeyFields(request, place, "chat", refused),
    ...endUserField(request, place, refused),
    [limitField]: maxOutput?.tokens ?? request.maxOutputTokens,
    messages: [
      ...systemMessage(request, marking),
      ...markedMessages(
        fitted(
          request.messages.flatMap((message, index) => [
            completionMessage(message, place, ids),
            ...resultPictures(request.messages, index),
          ]),
          habits,
        ),
        marking,
      ),
    ],
    ...(request.tools.length === 0
      ? {}
      : {
          ...(mayCall(request) || refused.has("tool_choice") ? {} : { tool_choice: "none" as const }),
          tools: request.tools.map((tool) => ({
            type: "function" as const,
            function: { name: tool.name, description: wellFormed(tool.description), parameters: tool.parameters },
          })),
        }),
  };
}

function systemMessage(
  request: ModelRequest,
  marking: ReturnType<typeof markingOf>,
): OpenAI.ChatCompletionSystemMessageParam[] {
  const parts = markedSystem(request, marking);
  const content = systemTextOf(request);
  if (parts === undefined) return content === "" ? [] : [{ role: "system", content }];
  return [{ role: "system", content: parts.map(({ text, mark }) => ({ type: "text" as const, text, ...mark })) }];
}

function completionMessage(
  message: ModelMessage,
  place: ProviderPlace,
  ids: ReadonlyMap<string, string>,
): OpenAI.ChatCompletionMessageParam {
  switch (message.role) {
    case "user": {
      const texts = message.content.flatMap((part) => (part.type === "text" ? wellFormed(part.text) : []));
      if (texts.length === message.content.length) return { role: "user", content: texts.join("\n\n") };
      return {
        role: "user",
        content: message.content.map((part) =>
          part.type === "text"
            ? { type: "text", text: wellFormed(part.text) }
            : { type: "image_url", image_url: { url: imageUrlOf(part) } },
        ),
      };
    }
    case "assistant": {
      const isSigned = serviceOf(place.baseUrl) === "google" && !/gemini-[12]\b|gemma/.test(place.model);
      const extras = extrasOf(message, place.model, isSigned);
      const calls = message.toolCalls.map((call, index) => {
        const { function: ofFunction, ...ofCall } = extras.calls[index] ?? {};
        const name = wireName(call.name);
        return {
          ...ofCall,
          id: ids.get(call.id) ?? call.id,
          type: "function" as const,
          function: { ...Object(ofFunction), name, arguments: JSON.stringify(inputOf(call.inputJson)) },
        };
      });
      return {
        ...extras.message,
        role: "assistant",
        content: wellFormed(message.text),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
    }
    case "tool":
      return {
        role: "tool",
        tool_call_id: ids.get(message.callId) ?? message.callId,
        content: wellFormed(message.text),
      };
    default:
      return message satisfies never;
  }
}

/**
 * Sends the pictures of a step's results after the last result, because the API accepts pictures only from users, and
 * no message between the results of one step.
 */
function resultPictures(messages: readonly ModelMessage[], index: number): OpenAI.ChatCompletionMessageParam[] {
  if (messages[index]?.role !== "tool" || messages[index + 1]?.role === "tool") return [];
  const start = messages.slice(0, index).findLastIndex(({ role }) => role !== "tool") + 1;
  const parts = messages.slice(start, index + 1).flatMap((message) => {
    if (message.role !== "tool" || message.images === undefined) return [];
    const label = `The picture${message.images.length === 1 ? "" : "s"} in the result of ${message.name} (call ${message.callId}):`;
    return [
      { type: "text" as const, text: wellFormed(label) },
      ...message.images.map((image) => ({ type: "image_url" as const, image_url: { url: imageUrlOf(image) } })),
    ];
  });
  return parts.length === 0 ? [] : [{ role: "user", content: parts }];
}

export async function* readCompletion(
  stream: AsyncIterable<Chunk>,
  place: ProviderPlace,
  onUsage: (usage: Usage) => void,
  isTool: (name: string) => boolean,
): AsyncGenerator<StreamPiece> {
  const extras = createExtras(isTool);
  const usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let hasBegun = false;
  let refusal = "";
  let finish = "";
  /** False for servers that give a reason in every chunk. */
  let isLastReason = true;
  let own: unknown;
  for await (const chunk of endingWhole(stream, place, () => finish !== "" && isLastReason)) {
    // The library recognises errors that are not in a list.
    if (Array.isArray(chunk)) throw reportedFailure(place, errorBodyOf(chunk));
    // Some servers send null to keep the connection alive.
    if (!isJsonObject(chunk)) continue;
    if (isJsonObject(chunk.usage)) {
      count(usage, chunk.usage);
      onUsage(usage);
    }
    const choices = [chunk.choices as unknown].flat().filter(isJsonObject);
    // One answer is asked for. A gateway that gives several mixes their pieces.
    own ??= choices[0] && indexOf(choices[0]);
    const choice = choices.find((one) => indexOf(one) === own);
    if (choice === undefined) continue;
    const delta: JsonObject = isJsonObject(choice.delta) ? choice.delta : {};
    const text = textIn(delta.content);
    // Some servers send `false` or an object for what there is none of.
    refusal += typeof delta.refusal === "string" ? delta.refusal : "";
    extras.add(delta);
    const hasOutput = saysAnything(delta);
    const length = textLengthIn({ ...delta, role: "" }) - text.length;
    if (hasOutput && finish !== "") isLastReason = false;
    if (text !== "") yield { type: "text-delta", text };
    if (hasOutput && (text === "" || length > 0)) yield { type: "progress", length, hidden: hiddenIn(delta) };
    // The model has begun, and may think in silence. Said once, so that a server that never says more is given up.
    if (!hasOutput && !hasBegun && mayReason(place.model)) yield { type: "thinking" };
    hasBegun = true;
    finish = harderReason(finish, choice.finish_reason);
  }
  // Without a finish reason the stream was cut off, even if the calls look complete.
  if (finish === "") return;
  const { calls, carry } = extras.end();
  const hasDeclined = refusal.trim() !== "";
  const stop = hasDeclined ? "refusal" : stopOf(place, finish, calls.length > 0);
  if (stop === "refusal") {
    yield { type: "refusal", usage, ...(hasDeclined ? { said: refusal } : { note: filterText }) };
    return;
  }
  for (const call of calls) yield { type: "tool-call", ...call };
  yield { type: "end", stop, usage, model: `openai/${place.model}`, ...carry };
}

function indexOf({ index }: JsonObject): Json {
  return index ?? 0;
}

/** The thinking, under the names that servers have for it, and the arguments of calls. */
function hiddenIn({ reasoning_content: thought, reasoning, tool_calls: calls }: JsonObject): string {
  const parts = [calls]
    .flat()
    .map((call) => (isJsonObject(call) && isJsonObject(call.function) ? call.function.arguments : ""));
  return [thought || reasoning, ...parts].filter((part) => typeof part === "string").join("");
}

/** True if a chunk has output. Checks all fields but `role`, because servers use several names for reasoning. */
function saysAnything(delta: JsonObject): boolean {
  return Object.entries(delta).some(
    ([key, value]) => key !== "role" && (Array.isArray(value) ? value.length > 0 : Boolean(value)),
  );
}

/**
 * OpenAI's prompt count includes cached tokens, but `Usage` counts them separately. Some services count more of them than there are.
 * DeepSeek, Moonshot and LiteLLM have names of their own beside OpenAI's or in their place.
 */
function count(usage: Usage, wire: JsonObject): void {
  const own: Record<string, unknown> = { ...wire, ...Object(wire.prompt_tokens_details) };
  const firstOf = (...names: string[]) => tokensIn(names.map((name) => own[name]).find(Boolean));
  const prompt = tokensIn(wire.prompt_tokens);
  const cached = Math.min(firstOf("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"), prompt);
  const written = Math.min(
    firstOf("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"),
    prompt - cached,
  );
  usage.inputTokens = prompt - cached - written;
  usage.outputTokens = tokensIn(wire.completion_tokens);
  usage.cacheReadTokens = cached;
  usage.cacheWriteTokens = written;
  Object.assign(usage, reportedCost(wire));
}
