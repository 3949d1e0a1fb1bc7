/**
 * What our code and the doubles rely on in the SDKs of the services, as TypeScript types. Types that only the code reads need
 * no entry: the code is checked against the new SDK as a whole. Listed is what the compiler can't tell: new names of a type,
 * and request fields that are deprecated, because the compiler does not report them in an object literal.
 */
import { discordFacts } from "./discord-facts.ts";
import { slackFacts } from "./slack-facts.ts";

export interface Fact {
  sdk: string;
  /** An expression with the names of `imports`: a union of strings, or an object whose fields count. */
  type: string;
  /** Where it matters. */
  at: string;
  /** The names without which something of ours would fail. */
  uses: readonly string[];
}

/** How a file imports each SDK: a package, or an entry of one. Those without a fact are only checked against the code. */
export const sdks: Readonly<Record<string, string>> = {
  "@anthropic-ai/sdk": 'import type Anthropic from "@anthropic-ai/sdk";',
  openai: 'import type OpenAI from "openai";',
  ollama: 'import type * as Ollama from "ollama";',
  "discord.js": "",
  "discord-api-types/v10": 'import type * as DiscordApi from "discord-api-types/v10";',
  "discord-api-spec": 'import type * as DiscordSpec from "discord-api-spec";',
  "@slack/bolt": "",
  "@slack/types": 'import type * as SlackTypes from "@slack/types";',
  "@slack/web-api": 'import type * as SlackApi from "@slack/web-api";',
};

/** Specifications that are only read: our code does not import them, so they are not installed. */
export const onlyRead: readonly string[] = ["discord-api-spec"];

/** Request fields that a service has and its SDK has no type for, so that nothing here tells when they change. */
export const untyped: Readonly<Record<string, readonly string[]>> = { ollama: ["truncate", "shift"] };

const anthropic = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "@anthropic-ai/sdk", type: `Anthropic.${type}` },
  ...{ at, uses },
});
const openai = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "openai", type: `OpenAI.${type}` },
  ...{ at, uses },
});
const ollama = (type: string, at: string, uses: readonly string[] = []): Fact => ({
  ...{ sdk: "ollama", type: `Ollama.${type}` },
  ...{ at, uses },
});

const prices = "src/usage/price-table.ts";
const messages = "src/providers/anthropic.ts";
const answers = "src/providers/anthropic-stream.ts";
const thinking = "src/providers/anthropic-thinking.ts";
const chat = "src/providers/openai-chat.ts";
const responses = "src/providers/openai-responses.ts";
const local = "src/providers/ollama.ts";
const failures = "src/providers/classify-failure.ts";

export const facts: readonly Fact[] = [
  anthropic("Model", prices, ["claude-sonnet-5-5"]),
  anthropic("MessageCreateParamsStreaming", messages, [
    ...[
      "model",
      "max_tokens",
      "messages",
      "stream",
      "system",
      "thinking",
      "tools",
      "tool_choice",
      "metadata",
      "output_config",
    ],
  ]),
  anthropic("MessageParam", messages, ["role", "content"]),
  anthropic('ContentBlockParam["type"]', messages, [
    ...["text", "image", "tool_use", "tool_result", "thinking", "redacted_thinking"],
  ]),
  anthropic("TextBlockParam", messages, ["type", "text", "cache_control"]),
  anthropic("ImageBlockParam", messages, ["type", "source"]),
  anthropic("Base64ImageSource", messages, ["type", "media_type", "data"]),
  anthropic('Base64ImageSource["media_type"]', messages, ["image/jpeg", "image/png", "image/gif", "image/webp"]),
  anthropic("ToolUseBlockParam", messages, ["type", "id", "name", "input"]),
  anthropic("ToolResultBlockParam", messages, ["type", "tool_use_id", "content", "is_error", "cache_control"]),
  anthropic("ThinkingBlockParam", thinking, ["type", "thinking", "signature"]),
  anthropic("RedactedThinkingBlockParam", thinking, ["type", "data"]),
  anthropic("Tool", messages, ["name", "description", "input_schema", "cache_control"]),
  anthropic("CacheControlEphemeral", messages, ["type"]),
  anthropic('ToolChoice["type"]', messages, ["none"]),
  anthropic('ThinkingConfigParam["type"]', thinking, ["between_tools"]),
  anthropic("Metadata", messages, ["user_id"]),
  anthropic("OutputConfig", messages, ["effort"]),
  anthropic('OutputConfig["effort"]', messages, ["low", "medium", "high", "xhigh", "max"]),
  anthropic("StopReason", answers, [
    ...["end_turn", "tool_use", "max_tokens", "model_context_window_exceeded", "refusal"],
  ]),
  anthropic('RefusalStopDetails["category"]', answers),
  anthropic('RawMessageStreamEvent["type"]', answers, [
    ...["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"],
    "message_stop",
  ]),
  anthropic('RawContentBlockDelta["type"]', answers, [
    ...["text_delta", "input_json_delta", "thinking_delta", "signature_delta"],
  ]),
  anthropic('ContentBlock["type"]', answers, ["text", "tool_use", "thinking", "redacted_thinking"]),
  anthropic("MessageDeltaUsage", answers, [
    ...["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
  ]),
  anthropic("ErrorType", failures, [
    ...["authentication_error", "billing_error", "not_found_error", "rate_limit_error", "invalid_request_error"],
  ]),
  anthropic('ErrorDetails["error_code"]', failures),
  anthropic("ModelInfo", prices),

  openai("ChatModel", prices, ["gpt-6-luna"]),
  openai("ResponsesModel", prices),
  openai("ChatCompletionCreateParamsStreaming", chat, [
    ...["model", "stream", "stream_options", "max_completion_tokens", "messages", "tools", "store", "reasoning_effort"],
    ...["prompt_cache_key", "safety_identifier"],
  ]),
  openai("ChatCompletionStreamOptions", chat, ["include_usage"]),
  openai('ChatCompletionMessageParam["role"]', chat, ["system", "user", "assistant", "tool"]),
  openai("ChatCompletionAssistantMessageParam", chat, ["role", "content", "tool_calls"]),
  openai("ChatCompletionToolMessageParam", chat, ["role", "tool_call_id", "content"]),
  openai("ChatCompletionMessageFunctionToolCall", chat, ["id", "type", "function"]),
  openai("ChatCompletionMessageFunctionToolCall.Function", chat, ["name", "arguments"]),
  openai("ChatCompletionFunctionTool", chat, ["type", "function"]),
  openai("FunctionDefinition", chat, ["name", "description", "parameters"]),
  openai('ChatCompletionContentPart["type"]', chat, ["text", "image_url"]),
  openai("ChatCompletionContentPartText", chat, ["type", "text", "prompt_cache_breakpoint"]),
  openai("ChatCompletionContentPartImage", chat, ["type", "image_url"]),
  openai("ChatCompletionContentPartImage.ImageURL", chat, ["url"]),
  openai('ChatCompletionChunk.Choice["finish_reason"]', chat, [
    ...["stop", "length", "tool_calls", "content_filter", "function_call"],
  ]),
  openai("CompletionUsage", chat, ["prompt_tokens", "completion_tokens", "prompt_tokens_details"]),
  openai("ReasoningEffort", responses, ["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
  openai("Reasoning", responses, ["effort"]),
  openai("Responses.ResponseCreateParamsStreaming", responses, [
    ...["model", "stream", "store", "include", "max_output_tokens", "input", "instructions", "tools", "reasoning"],
    ...["prompt_cache_key", "safety_identifier"],
  ]),
  openai("Responses.ResponseIncludable", responses, ["reasoning.encrypted_content"]),
  openai("Responses.FunctionTool", responses, ["type", "name", "description", "parameters", "strict"]),
  openai("Responses.EasyInputMessage", responses, ["role", "content", "phase"]),
  openai("Responses.ResponseFunctionToolCall", responses, ["type", "call_id", "name", "arguments"]),
  openai("Responses.ResponseInputItem.FunctionCallOutput", responses, ["type", "call_id", "output"]),
  openai("Responses.ResponseInputImage", responses, ["type", "image_url", "detail"]),
  openai("Responses.ResponseInputText", responses, ["type", "text", "prompt_cache_breakpoint"]),
  openai("Responses.ResponseReasoningItem", responses, ["type", "id", "summary", "content", "encrypted_content"]),
  openai('Responses.ResponseStreamEvent["type"]', responses, [
    ...["response.output_text.delta", "response.refusal.delta", "response.output_item.added"],
    ...["response.output_item.done", "response.completed", "response.incomplete", "response.failed", "error"],
    ...["response.created", "response.in_progress", "response.queued"],
  ]),
  openai('Responses.ResponseOutputItem["type"]', responses, ["message", "reasoning", "function_call"]),
  openai('Responses.Response.IncompleteDetails["reason"]', responses, [...["max_output_tokens", "content_filter"]]),
  openai('Responses.ResponseError["code"]', failures, ["server_error", "rate_limit_exceeded"]),
  openai("EmbeddingCreateParams", "src/providers/embeddings.ts", ["model", "input", "encoding_format", "dimensions"]),
  openai("EmbeddingModel", "src/providers/embeddings.ts", ["text-embedding-3-small"]),
  openai("AudioModel", prices),

  ollama("ChatRequest", local, ["model", "stream", "messages", "options", "tools", "keep_alive", "think"]),
  ollama("Options", local, ["num_predict", "num_ctx"]),
  ollama("Message", local, ["role", "content", "thinking", "images", "tool_calls", "tool_name"]),
  ollama("ToolCall", local, ["function"]),
  ollama('ToolCall["function"]', local, ["name", "arguments"]),
  ollama("Tool", local, ["type", "function"]),
  ollama('Tool["function"]', local, ["name", "description", "parameters"]),
  ollama("ChatResponse", local, ["message", "done", "done_reason", "prompt_eval_count", "eval_count"]),
  ollama("ShowResponse", local, ["capabilities"]),
  ollama("EmbedRequest", "src/providers/embeddings.ts", ["model", "input", "truncate", "dimensions"]),

  ...slackFacts,
  ...discordFacts,
];
