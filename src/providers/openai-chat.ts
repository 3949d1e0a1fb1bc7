/**
 * OpenAI's Chat Completions, as spoken by OpenAI and many compatible servers. Calls come in pieces by index and are
 * complete only with the answer. Some servers send several calls under one index, with different ids.
 * `reasoning_content` is sent back to the same model within the turn, because several servers refuse calls without it.
 */
import type OpenAI from "openai";
import { isJsonObject } from "../lib/json.ts";
import type { ModelMessage, ModelRequest, ModelToolCall, Provider, StopReason, Usage } from "../ports/provider.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import type { StreamCall, StreamPiece } from "./guarded-stream.ts";
import {
  createOpenAiProvider,
  filterText,
  imageUrlOf,
  isReasoningModel,
  type OpenAiOptions,
  quoted,
} from "./openai-client.ts";
import { inputOf, mayCall, systemTextOf, wellFormed, wireName } from "./request-mapping.ts";
import type { WithClient } from "./shared-client.ts";

type Chunk = OpenAI.ChatCompletionChunk;

const carryKind = "openai-chat";

export function createOpenAiChatProvider(options: OpenAiOptions): Provider {
  return createOpenAiProvider(options, ask);
}

async function* ask(
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
): AsyncGenerator<StreamPiece> {
  const isOpenAi = new URL(place.baseUrl).hostname === "api.openai.com";
  const body = completionBody(request, place.model, isOpenAi);
  const { signal } = call;
  const stream = await withClient(call, async (client) => await client.chat.completions.create(body, { signal }));
  yield* read(stream, place.model);
}

function completionBody(
  request: ModelRequest,
  model: string,
  isOpenAi: boolean,
): OpenAI.ChatCompletionCreateParamsStreaming {
  const system = systemTextOf(request);
  const limit = request.maxOutputTokens;
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    // Compatible servers support the old name. OpenAI's reasoning models accept only `max_completion_tokens`.
    ...(isOpenAi || isReasoningModel(model) ? { max_completion_tokens: limit } : { max_tokens: limit }),
    messages: [
      ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
      ...request.messages.flatMap((message, index) => [
        completionMessage(message, model),
        ...resultPictures(request.messages, index),
      ]),
    ],
    // Compatible servers may ignore `tool_choice`, and then answer with a call that must not run.
    ...(request.tools.length === 0 || !(isOpenAi || mayCall(request))
      ? {}
      : {
          ...(mayCall(request) ? {} : { tool_choice: "none" as const }),
          tools: request.tools.map((tool) => ({
            type: "function" as const,
            function: { name: tool.name, description: wellFormed(tool.description), parameters: tool.parameters },
          })),
        }),
  };
}

function completionMessage(message: ModelMessage, model: string): OpenAI.ChatCompletionMessageParam {
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
    case "assistant":
      return {
        role: "assistant",
        content: wellFormed(message.text),
        ...carriedReasoning(message, model),
        ...(message.toolCalls.length === 0
          ? {}
          : {
              tool_calls: message.toolCalls.map((call) => ({
                id: call.id,
                type: "function" as const,
                function: { name: wireName(call.name), arguments: JSON.stringify(inputOf(call.inputJson)) },
              })),
            }),
      };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: wellFormed(message.text) };
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

async function* read(stream: AsyncIterable<Chunk>, model: string): AsyncGenerator<StreamPiece> {
  const calls: (ModelToolCall & { index: number })[] = [];
  const usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  let reasoning = "";
  let refusal = "";
  let finish: OpenAI.ChatCompletionChunk.Choice["finish_reason"] = null;
  for await (const chunk of stream) {
    if (chunk.usage) count(usage, chunk.usage);
    const choice = chunk.choices?.[0];
    if (choice === undefined) continue;
    const { delta } = choice;
    const text = delta?.content;
    refusal += delta?.refusal ?? "";
    reasoning += reasoningIn(delta);
    if (text) yield { type: "text-delta", text };
    else if (saysAnything(delta)) yield { type: "progress" };
    for (const piece of delta?.tool_calls ?? []) gather(calls, piece);
    // Servers with the API's older form call one function per answer.
    if (delta?.function_call) gather(calls, { index: 0, function: delta.function_call });
    finish = choice.finish_reason ?? finish;
  }
  // Without a finish reason the stream was cut off, even if the calls look complete.
  if (finish === null) return;
  for (const { id, name, inputJson } of calls) yield { type: "tool-call", id, name, inputJson };
  if (refusal !== "" || isFiltered(finish)) {
    yield { type: "refusal", usage, why: refusal === "" ? filterText : quoted(refusal) };
    return;
  }
  const carry = reasoning === "" ? {} : { carry: { kind: carryKind, reasoning } };
  yield { type: "end", stop: finishReason(finish, calls.length > 0), usage, model: `openai/${model}`, ...carry };
}

function reasoningIn(delta: object | undefined): string {
  if (delta === undefined || !("reasoning_content" in delta)) return "";
  return typeof delta.reasoning_content === "string" ? delta.reasoning_content : "";
}

function carriedReasoning(message: Extract<ModelMessage, { role: "assistant" }>, model: string): object {
  const data = message.carry?.model === `openai/${model}` ? message.carry.data : undefined;
  if (!isJsonObject(data) || data.kind !== carryKind) return {};
  return { reasoning_content: data.reasoning };
}

/** True if a chunk has output. Checks all fields but `role`, because servers use several names for reasoning. */
function saysAnything(delta: object | undefined): boolean {
  return Object.entries(delta ?? {}).some(([key, value]) => key !== "role" && Boolean(value));
}

function gather(
  calls: (ModelToolCall & { index: number })[],
  piece: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall,
): void {
  const index = piece.index ?? calls.length;
  const last = calls.findLast((call) => call.index === index);
  const isNew =
    last === undefined || (piece.id !== undefined && piece.id !== "" && last.id !== "" && piece.id !== last.id);
  const call = isNew ? { index, id: "", name: "", inputJson: "" } : last;
  if (isNew) calls.push(call);
  if (piece.id) call.id = piece.id;
  if (piece.function?.name && piece.function.name !== call.name) call.name += piece.function.name;
  call.inputJson += piece.function?.arguments ?? "";
}

/** OpenAI's prompt count includes cached tokens, but `Usage` counts them separately. */
function count(usage: Usage, wire: OpenAI.CompletionUsage): void {
  const cached = wire.prompt_tokens_details?.cached_tokens ?? 0;
  const written = wire.prompt_tokens_details?.cache_write_tokens ?? 0;
  usage.inputTokens = Math.max(0, (wire.prompt_tokens ?? 0) - cached - written);
  usage.outputTokens = wire.completion_tokens ?? 0;
  usage.cacheReadTokens = cached;
  usage.cacheWriteTokens = written;
}

function finishReason(finish: OpenAI.ChatCompletionChunk.Choice["finish_reason"], hasCalls: boolean): StopReason {
  return finish === "length" ? "max-tokens" : hasCalls ? "tool-calls" : "end";
}

/** Also as Gemini's compatible address says it: `content_filter: PROHIBITED_CONTENT`, or its own word alone. */
function isFiltered(finish: string): boolean {
  return /^(?:content_filter\b|safety|recitation|blocklist|prohibited_content|spii|image_safety)/i.test(finish);
}
