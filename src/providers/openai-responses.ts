/**
 * OpenAI's Responses API without state at the service: every request contains the complete conversation. A stream that
 * ends without `response.completed` or `response.incomplete` was cut off.
 */
import type OpenAI from "openai";
import type { Json } from "../ports/message.ts";
import type { ModelMessage, ModelRequest, Provider, StopReason, Usage } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import { reportedFailure } from "./classify-failure.ts";
import { errorBodyOf } from "./error-body.ts";
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
import { callItem, carriedItems, createReasoningItems } from "./openai-reasoning.ts";
import { mayCall, systemTextOf, wellFormed } from "./request-mapping.ts";
import type { WithClient } from "./shared-client.ts";

type Responses = OpenAI.Responses.Response;

export function createOpenAiResponsesProvider(options: OpenAiOptions): Provider {
  return createOpenAiProvider(options, ask);
}

async function* ask(
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
): AsyncGenerator<StreamPiece> {
  const body = responsesBody(request, place.model);
  const { signal } = call;
  const stream = await withClient(call, async (client) => await client.responses.create(body, { signal }));
  yield* read(stream, place);
}

function responsesBody(request: ModelRequest, model: string): OpenAI.Responses.ResponseCreateParamsStreaming {
  const instructions = systemTextOf(request);
  return {
    model,
    stream: true,
    store: false,
    ...(isReasoningModel(model) ? { include: ["reasoning.encrypted_content" as const] } : {}),
    max_output_tokens: request.maxOutputTokens,
    input: request.messages.flatMap((message) => itemsOf(message, model)),
    ...(instructions === "" ? {} : { instructions }),
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
          ...(mayCall(request) ? {} : { tool_choice: "none" as const }),
        }),
  };
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

async function* read(
  stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
  place: ProviderPlace,
): AsyncGenerator<StreamPiece> {
  const items = createReasoningItems();
  let hasCalls = false;
  let refusal = "";
  for await (const event of stream) {
    switch (event.type) {
      case "response.output_text.delta":
        yield { type: "text-delta", text: event.delta };
        break;
      case "response.refusal.delta":
        refusal += event.delta;
        yield { type: "progress" };
        break;
      case "response.output_item.added":
        yield { type: event.item.type === "reasoning" ? "thinking" : "progress" };
        break;
      case "response.output_item.done":
        items.add(event.item);
        if (event.item.type !== "function_call") {
          yield { type: "progress" };
          break;
        }
        hasCalls = true;
        yield { type: "tool-call", id: event.item.call_id, name: event.item.name, inputJson: event.item.arguments };
        break;
      case "response.completed":
      case "response.incomplete":
        if (refusal !== "" || event.response.incomplete_details?.reason === "content_filter") {
          const why = refusal === "" ? filterText : quoted(refusal);
          yield { type: "refusal", usage: responseUsage(event.response), why };
          break;
        }
        yield responseEnd(event.response, hasCalls, place.model, items.carry());
        break;
      case "response.failed":
        throw reportedFailure(place, errorBodyOf(event.response.error));
      case "error":
        throw reportedFailure(place, errorBodyOf(event));
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        // The service accepted the request; the model has no output yet.
        break;
      default:
        yield { type: event.type.startsWith("response.reasoning") ? "thinking" : "progress" };
    }
  }
}

function responseEnd(response: Responses, hasCalls: boolean, model: string, carry: Json | undefined): StreamPiece {
  const end = { type: "end" as const, stop: responseStop(response, hasCalls), usage: responseUsage(response) };
  return { ...end, model: `openai/${model}`, ...(carry === undefined ? {} : { carry }) };
}

function responseStop(response: Responses, hasCalls: boolean): StopReason {
  if (response.incomplete_details?.reason !== undefined) return "max-tokens";
  return hasCalls ? "tool-calls" : "end";
}

/** OpenAI's input count includes cached tokens, but `Usage` counts them separately. */
function responseUsage(response: Responses): Usage {
  const cached = response.usage?.input_tokens_details?.cached_tokens ?? 0;
  const written = response.usage?.input_tokens_details?.cache_write_tokens ?? 0;
  return {
    inputTokens: Math.max(0, (response.usage?.input_tokens ?? 0) - cached - written),
    outputTokens: response.usage?.output_tokens ?? 0,
    cacheReadTokens: cached,
    cacheWriteTokens: written,
  };
}
