/**
 * OpenAI's Responses API without state at the service: every request contains the complete conversation. A stream that
 * ends without `response.completed` or `response.incomplete` was cut off.
 */
import type OpenAI from "openai";
import { isJsonObject, textLengthIn } from "../lib/json.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ModelMessage, ModelRequest, Usage } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import { stopOf } from "./answer-end.ts";
import { argumentsIn, textIn } from "./answer-fields.ts";
import { failure, reportedFailure } from "./classify-failure.ts";
import { errorBodyOf } from "./error-body.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import type { StreamPiece } from "./guarded-stream.ts";
import { cacheKeyFields, markedItems, markedSystem, markingOf } from "./openai-cache.ts";
import { endUserField, filterText, imageUrlOf, mayReason, serviceOf } from "./openai-client.ts";
import type { Dialect } from "./openai-dialect.ts";
import { createOutput, type Output } from "./openai-output.ts";
import { callItem, carriedItems, createReasoningItems } from "./openai-reasoning.ts";
import { reportedCost, tokensIn } from "./reported-usage.ts";
import { alternatingMessages, mayCall, systemTextOf, wellFormed } from "./request-mapping.ts";

type Responses = OpenAI.Responses.Response;

export function responsesBody(
  request: ModelRequest,
  place: ProviderPlace,
  { effort, refused, habits }: Dialect,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const { model } = place;
  const marking = markingOf(place, refused);
  const marked = markedSystem(request, marking);
  const system = systemTextOf(request);
  const messages = habits.has("rolesAlternate") ? alternatingMessages(request.messages) : request.messages;
  // xAI's pages say of `instructions` that it has them, and that it does not. A first message is right either way.
  const hasItem = marked !== undefined || refused.has("instructions") || serviceOf(place.baseUrl) === "xai";
  return {
    model,
    stream: true,
    ...(refused.has("store") ? {} : { store: false }),
    ...(mayReason(model) && !refused.has("include") ? { include: ["reasoning.encrypted_content" as const] } : {}),
    ...(effort === undefined ? {} : { reasoning: { effort } }),
    ...cacheKeyFields(request, place, "responses", refused),
    ...endUserField(request, place, refused),
    max_output_tokens: request.maxOutputTokens,
    input: [
      ...(hasItem && system !== "" ? [systemItem(system, marked)] : []),
      ...markedItems(
        messages.flatMap((message) => itemsOf(message, model)),
        marking,
      ),
    ],
    ...(hasItem || system === "" ? {} : { instructions: system }),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: "function" as const,
            name: tool.name,
            description: wellFormed(tool.description),
            parameters: tool.parameters,
            strict: false,
          })),
          ...(mayCall(request) || refused.has("tool_choice") ? {} : { tool_choice: "none" as const }),
        }),
  };
}

/** The system text as the first item: `instructions` can't have a breakpoint, and not every service takes them. */
function systemItem(system: string, marked: ReturnType<typeof markedSystem>): OpenAI.Responses.ResponseInputItem {
  if (marked === undefined) return { role: "system", content: system };
  return { role: "developer", content: marked.map(({ text, mark }) => ({ type: "input_text", text, ...mark })) };
}

function itemsOf(message: ModelMessage, model: string): OpenAI.Responses.ResponseInputItem[] {
  switch (message.role) {
    case "user":
      return [
        {
          role: "user",
          content: message.content.map((part) =>
            part.type === "text" ? { type: "input_text", text: wellFormed(part.text) } : inputImage(part),
          ),
        },
      ];
    case "assistant":
      return (
        carriedItems(message, model) ?? [
          ...(message.text === "" ? [] : [{ role: "assistant" as const, content: wellFormed(message.text) }]),
          ...message.toolCalls.map(callItem),
        ]
      );
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: outputOf(message) }];
    default:
      return message satisfies never;
  }
}

function outputOf({ text, images = [] }: Extract<ModelMessage, { role: "tool" }>) {
  const output = wellFormed(text);
  return images.length === 0 ? output : [{ type: "input_text" as const, text: output }, ...images.map(inputImage)];
}

function inputImage(image: ToolImage) {
  return { type: "input_image" as const, image_url: imageUrlOf(image), detail: "auto" as const };
}

export async function* readResponse(
  stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
  place: ProviderPlace,
  onUsage: (usage: Usage) => void,
): AsyncGenerator<StreamPiece> {
  const items = createReasoningItems();
  const output = createOutput();
  const shown = (text: string): StreamPiece => (text === "" ? { type: "progress" } : { type: "text-delta", text });
  let hasBegun = false;
  for await (const given of stream) {
    const event = readable(given);
    if ("response" in event && event.response?.usage) onUsage(responseUsage(event.response));
    switch (event.type) {
      case "response.output_text.delta":
        output.addText(event.delta);
        yield shown(event.delta);
        break;
      case "response.output_text.done":
        yield shown(output.endText(event.text));
        break;
      case "response.refusal.delta":
        output.addRefusal(event.delta);
        yield { type: "progress", length: event.delta.length };
        break;
      case "response.refusal.done":
        output.endRefusal(event.refusal);
        yield { type: "progress" };
        break;
      case "response.output_item.added":
        if (event.item.type === "function_call") output.startCall(event.item, event.output_index);
        yield { type: event.item.type === "reasoning" ? "thinking" : "progress", length: textLengthIn(event.item) };
        break;
      case "response.function_call_arguments.delta":
        output.addArguments(event);
        yield { type: "progress", length: event.delta.length, hidden: event.delta };
        break;
      case "response.function_call_arguments.done":
        output.endArguments(event);
        yield { type: "progress" };
        break;
      case "response.output_item.done":
        items.add(event.item);
        if (event.item.type === "function_call") output.endCall(event.item, event.output_index);
        if (event.item.type === "message") yield shown(output.endMessage(event.item));
        // What it repeats of calls is within the limit, which is four times as long as answers.
        else yield { type: "progress", length: textLengthIn(event.item) };
        break;
      case "response.completed":
      case "response.incomplete":
        if (event.response.status === "failed") throw reportedFailure(place, errorBodyOf(event.response.error));
        yield shown(output.endAnswer(event.response.output ?? []));
        yield* ending(event, output, items.carry(event.response.output ?? []), place);
        break;
      case "response.failed":
        throw reportedFailure(place, errorBodyOf(event.response.error));
      case "error":
        throw reportedFailure(place, errorBodyOf(event));
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        // The model has begun, and may think for long before it says so. Said once, so that a service that never says more is given up.
        if (!hasBegun && mayReason(place.model)) yield { type: "thinking" };
        hasBegun = true;
        break;
      default:
        if (isKeepAlive(event)) break;
        yield {
          type: event.type.startsWith("response.reasoning") ? "thinking" : "progress",
          length: textLengthIn("delta" in event ? event.delta : ""),
          hidden: "delta" in event && typeof event.delta === "string" ? event.delta : "",
        };
    }
  }
}

/** Gateways leave out what an event is about, or send null or another type for it. */
function readable(given: OpenAI.Responses.ResponseStreamEvent): OpenAI.Responses.ResponseStreamEvent {
  const event: JsonObject = isJsonObject(given) ? { ...given } : {};
  const type = String(event.type);
  if (/^response\.output_item\./.test(type) && !isJsonObject(event.item)) event.item = {};
  if (/^response\.(?:completed|incomplete|failed)$/.test(type) && !isJsonObject(event.response)) event.response = {};
  if (/_arguments\.delta$/.test(type)) event.delta = argumentsIn(event.delta);
  else if (/\.(?:output_text|refusal)\.delta$/.test(type)) event.delta = textIn(event.delta);
  if (type === "response.output_text.done") event.text = textIn(event.text);
  if (isJsonObject(event.response) && !isItems(event.response.output)) {
    const output = [event.response.output].flat().filter(isJsonObject);
    event.response = { ...event.response, output };
  }
  return event as unknown as OpenAI.Responses.ResponseStreamEvent;
}

function isItems(output: unknown): boolean {
  return output === undefined || (Array.isArray(output) && output.every(isJsonObject));
}

/** The library has no type for this event, which only keeps the connection open. */
function isKeepAlive(event: { type: string }): boolean {
  return event.type === "keepalive";
}

/** Gateways repeat the status of the first event in the last one. What nobody knows, and `cancelled`, is a break. */
const passableStatuses: ReadonlySet<string> = new Set(["completed", "incomplete", "in_progress", "queued"]);

type LastEvent = OpenAI.Responses.ResponseCompletedEvent | OpenAI.Responses.ResponseIncompleteEvent;

/** No call is passed on before, because the last event may say that nothing of the answer counts. */
function* ending(
  { type, response }: LastEvent,
  output: Output,
  carry: Json | undefined,
  place: ProviderPlace,
): Generator<StreamPiece> {
  const usage = responseUsage(response);
  const { status = "completed", incomplete_details: details } = response;
  if (!passableStatuses.has(status)) throw failure(place, "cut", { said: status });
  const isCut =
    type === "response.incomplete" || status === "incomplete" || details?.reason !== undefined || output.isIncomplete();
  const refusal = output.refusal();
  const calls = refusal === "" ? output.calls(place, isCut) : [];
  const reason: string = isCut ? (details?.reason ?? "length") : "stop";
  const stop = refusal === "" ? stopOf(place, reason, calls.length > 0) : "refusal";
  if (stop === "refusal") {
    yield { type: "refusal", usage, ...(refusal === "" ? { note: filterText } : { said: refusal }) };
    return;
  }
  for (const call of calls) yield { type: "tool-call", ...call };
  yield { type: "end", stop, usage, model: `openai/${place.model}`, ...(carry === undefined ? {} : { carry }) };
}

/** OpenAI's input count includes cached tokens, but `Usage` counts them separately. */
function responseUsage(response: Responses): Usage {
  const cached = tokensIn(response.usage?.input_tokens_details?.cached_tokens);
  const written = tokensIn(response.usage?.input_tokens_details?.cache_write_tokens);
  return {
    inputTokens: Math.max(0, tokensIn(response.usage?.input_tokens) - cached - written),
    outputTokens: tokensIn(response.usage?.output_tokens),
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    ...reportedCost(response.usage),
  };
}
