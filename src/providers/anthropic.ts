/** Anthropic's Messages API through its SDK. The SDK never retries, because the cascade decides about retries. */
import type Anthropic from "@anthropic-ai/sdk";
import type { CachePrice, ModelMessage, ModelRequest, Provider, UserPart } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import {
  type CacheMarks,
  cacheParameters,
  type MessageBlocks,
  systemOf,
  withBreakpoints,
  withToolMark,
} from "./anthropic-cache.ts";
import { type ClaudeParameters, claudeParameters, type Effort } from "./anthropic-parameters.ts";
import { callBlock, carriedBlocks, createPrefix, type Prefix } from "./anthropic-thinking.ts";
import { createCacheHabits } from "./cache-habits.ts";
import { modelSettingOf, type ProviderPlace, type SettingNames } from "./failure-kinds.ts";
import { guardedStream, type StreamCall, type StreamPiece } from "./guarded-stream.ts";
import { createParameterFallback } from "./optional-parameters.ts";
import { defaultTimeouts, longestMs, type Timeouts } from "./patience.ts";
import { digestOfKey } from "./refused-keys.ts";
import { mayCall, modelOf, wellFormed, wireName } from "./request-mapping.ts";
import { createSharedClient, type WithClient } from "./shared-client.ts";
import { createTextOnlyFallback } from "./text-only.ts";
import { createToolFallback } from "./tool-fallback.ts";
import { createPictureFallback } from "./without-pictures.ts";

export interface AnthropicOptions extends SettingNames {
  /** A function is asked before each request. */
  apiKey: string | (() => string);
  baseUrl?: string;
  model: string;
  /** Left out for models that are known not to have it. */
  effort?: Effort;
  timeouts?: Timeouts;
  /** By default, nobody knows what is cheaper, and prompts are kept for five minutes. */
  cachePriceOf?(model: string): CachePrice | undefined;
}

const ownUrl = "https://api.anthropic.com";

/** False for gateways and compatible servers. */
export function isClaudesOwn(baseUrl: string = ownUrl): boolean {
  return URL.parse(baseUrl)?.host === new URL(ownUrl).host;
}

export function createAnthropicProvider(options: AnthropicOptions): Provider {
  const { apiKey, model, effort, timeouts = defaultTimeouts } = options;
  const keyNow = typeof apiKey === "string" ? () => apiKey : apiKey;
  const baseUrl = options.baseUrl ?? ownUrl;
  const isOwn = isClaudesOwn(baseUrl);
  // The library sends a bearer token alone, and some gateways read only the older header.
  const keyHeader = (): Record<string, string> => (isOwn ? {} : { "x-api-key": keyNow() });
  const withClient = createSharedClient(
    async (fetch) => {
      const { Anthropic } = await import("@anthropic-ai/sdk");
      return new Anthropic({
        ...{ apiKey: keyNow(), authToken: null, baseURL: baseUrl },
        ...{ maxRetries: 0, timeout: longestMs, fetch, logLevel: "off" },
      });
    },
    (client) => {
      client.apiKey = keyNow();
    },
  );
  const pictures = createPictureFallback();
  const parameters = createParameterFallback();
  const habits = createCacheHabits();
  const textOnly = createTextOnlyFallback();
  const tools = createToolFallback();
  return {
    name: "anthropic",
    model: `anthropic/${model}`,
    address: baseUrl,
    keyDigest: () => digestOfKey(keyNow()),
    advice: () => tools.advice("anthropic"),
    stream(request, signal) {
      const place = anthropicPlace(modelOf(request, "anthropic", model), { ...options, baseUrl }, keyNow());
      const wanted = { effort, endUser: request.endUser };
      const lives = habits.livesFor(place.model, request, options.cachePriceOf?.(`anthropic/${place.model}`));
      const sent = [...cacheParameters(lives, isOwn).sent, ...claudeParameters(place.model, wanted).sent];
      const answer = (asked: ModelRequest, given: ModelRequest, leftOut: ReadonlySet<string>) => {
        const chosen = claudeParameters(place.model, wanted, leftOut);
        const { marks, betas } = cacheParameters(lives, isOwn, leftOut);
        const all = [...chosen.betas, ...betas];
        const headers = { ...keyHeader(), ...(all.length === 0 ? {} : { "anthropic-beta": all.join(",") }) };
        const open = (call: StreamCall) => ask(place, withClient, given, { ...chosen, headers, marks }, call);
        return guardedStream({ place, timeouts, request: asked, open }, signal);
      };
      return pictures.stream(place.model, request, (seen) =>
        tools.stream(place, seen, (asked) =>
          textOnly.stream(place.model, asked, (given) =>
            parameters.stream(place.model, sent, (leftOut) => answer(asked, given, leftOut), request.tries),
          ),
        ),
      );
    },
  };
}

function anthropicPlace(model: string, options: AnthropicOptions & { baseUrl: string }, key: string): ProviderPlace {
  return {
    name: "anthropic",
    model,
    baseUrl: options.baseUrl,
    keySetting: "ANTHROPIC_API_KEY or models.anthropic.apiKey",
    urlSetting: options.urlSetting ?? "ANTHROPIC_BASE_URL or models.anthropic.baseUrl",
    modelSetting: modelSettingOf(model, options, "models.anthropic.model"),
    secrets: [key],
  };
}

interface Chosen extends Omit<ClaudeParameters, "betas"> {
  headers: Record<string, string>;
  marks: CacheMarks;
}

async function* ask(
  place: ProviderPlace,
  withClient: WithClient<Anthropic>,
  request: ModelRequest,
  { body: chosen, headers, showsThinking, marks }: Chosen,
  call: StreamCall,
): AsyncGenerator<StreamPiece> {
  const { body, mark } = messagesBody(request, place.model, marks);
  const { signal } = call;
  // With the first request, so that a start does not wait for it.
  const { readAnswer } = await import("./anthropic-stream.ts");
  const whole = { ...body, ...chosen };
  const stream = await withClient(call, async (client) => await client.messages.create(whole, { signal, headers }));
  yield* readAnswer(stream, place, mark, { showsThinking, onUsage: call.onUsage });
}

/** Must not send sampling parameters, a prefilled answer or a forced tool, because current models refuse them. */
function messagesBody(
  request: ModelRequest,
  model: string,
  marks: CacheMarks,
): { body: Anthropic.MessageCreateParamsStreaming; mark: () => string } {
  const system = systemOf(request, marks.stable);
  const tools = withToolMark(toolsOf(request), system, marks.stable);
  const prefix = createPrefix(system, tools);
  const messages = messagesOf(request.messages, model, prefix);
  const body: Anthropic.MessageCreateParamsStreaming = {
    model,
    max_tokens: request.maxOutputTokens,
    messages: withBreakpoints(messages, marks.said),
    stream: true,
    ...(system.length > 0 ? { system } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    ...(tools.length > 0 && !mayCall(request) ? { tool_choice: { type: "none" } } : {}),
  };
  return { body, mark: () => prefix.mark(messages) };
}

function toolsOf(request: ModelRequest): Anthropic.Tool[] {
  if (request.tools.length === 0) return calledTools(request.messages);
  return request.tools.map((tool) => ({
    name: tool.name,
    description: wellFormed(tool.description),
    input_schema: { ...tool.parameters, type: "object" },
  }));
}

/**
 * Declares the tools of past calls, without which the service would refuse the history. The model must not use them.
 */
function calledTools(messages: ModelMessage[]): Anthropic.Tool[] {
  const names = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map((call) => wireName(call.name)) : [],
  );
  return [...new Set(names)].map((name) => ({
    name,
    description: "No longer available.",
    input_schema: { type: "object" },
  }));
}

/** The results of one step are sent in one user message, before any other text. */
function messagesOf(messages: ModelMessage[], model: string, prefix: Prefix): MessageBlocks[] {
  const params: MessageBlocks[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = params.at(-1);
    // Hash only where the role changes, because only there the preceding messages are complete.
    const carried =
      message.role === "assistant" && last?.role === "user"
        ? carriedBlocks(message, model, () => prefix.mark(params))
        : undefined;
    const blocks = carried ?? blocksOf(message);
    if (last?.role === role) last.content.push(...blocks);
    else params.push({ role, content: blocks });
  }
  return params.map((param) => (param.content.length > 0 ? param : { ...param, content: [text("(no text)")] }));
}

function blocksOf(message: ModelMessage): Anthropic.ContentBlockParam[] {
  switch (message.role) {
    case "user":
      return message.content.flatMap(userBlock);
    case "assistant":
      return [
        ...(message.text.trim() === "" ? [] : [text(message.text.trimEnd())]),
        ...message.toolCalls.map(callBlock),
      ];
    case "tool":
      return [
        {
          type: "tool_result",
          tool_use_id: message.callId,
          content: resultContent(message),
          is_error: message.isError,
        },
      ];
    default:
      return message satisfies never;
  }
}

/** The service refuses pictures in the result of a failed call. */
function resultContent({ text: said, images = [], isError }: Extract<ModelMessage, { role: "tool" }>) {
  const output = said.trim() === "" ? "(no output)" : wellFormed(said);
  if (images.length === 0 || isError) return output;
  return [text(output), ...images.map(imageBlock)];
}

function text(value: string): Anthropic.TextBlockParam {
  return { type: "text", text: wellFormed(value) };
}

/** Omits blank text and unsupported image types, because the service refuses them. */
function userBlock(part: UserPart): Anthropic.ContentBlockParam[] {
  if (part.type === "text") return part.text.trim() === "" ? [] : [text(part.text)];
  return [imageBlock(part)];
}

function imageBlock({ mimeType, base64 }: ToolImage): Anthropic.TextBlockParam | Anthropic.ImageBlockParam {
  const isKnown =
    mimeType === "image/jpeg" || mimeType === "image/png" || mimeType === "image/gif" || mimeType === "image/webp";
  if (!isKnown) return text(`(an image of type ${mimeType}, which you can't see)`);
  return { type: "image", source: { type: "base64", media_type: mimeType, data: base64 } };
}
