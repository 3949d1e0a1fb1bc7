/** Filters that decline an answer with an error, and what Anthropic and the gateways before it refuse. */
import { type FieldShape, failure, json, named, openAiError, page, type Row, rowsOf } from "./shape.ts";

const anthropicError = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } });

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const withPicture: FieldShape["request"] = {
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "hello" },
        { type: "image", mimeType: "image/png", base64: picture },
      ],
    },
  ],
};
const anthropicHello = {
  pieces: named(
    { type: "message_start", message: { content: [], usage: {} } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hello there" } },
    { type: "content_block_stop", index: 0 },
    ...[{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} }, { type: "message_stop" }],
  ),
};

const filtered: Row[] = [
  [
    "Azure's filter of the prompt is a refusal",
    "https://github.com/Gitlawb/openclaude/issues/273",
    json(400, {
      error: {
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        ...{ type: null, param: "prompt", code: "content_filter", status: 400 },
        innererror: {
          ...{ code: "ResponsibleAIPolicyViolation" },
          content_filter_result: { jailbreak: { filtered: true, detected: true } },
        },
      },
    }),
    { type: "refusal" },
  ],
  [
    "a prompt that OpenAI has flagged is a refusal",
    "https://github.com/alan-turing-institute/t0-1/issues/69",
    json(
      400,
      openAiError("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", {
        code: "invalid_prompt",
      }),
    ),
    { type: "refusal" },
  ],
  [
    "xAI's failed safety check is a refusal, and the key stays good",
    "https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267",
    json(403, {
      code: "The caller does not have permission to execute the specified operation",
      error:
        "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO",
    }),
    { type: "refusal" },
  ],
  [
    "OpenRouter's moderation is a refusal, and the key stays good",
    "https://www.developersdigest.tech/errors/api/openrouter/403-content-policy-violation",
    json(403, {
      error: {
        ...{ code: 403, message: "Your chosen model requires moderation and your input was flagged" },
        metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "OpenAI", model_slug: "openai/gpt-5.4" },
      },
    }),
    { type: "refusal" },
  ],
  [
    "Zhipu's sensitive input is a refusal",
    "https://github.com/langchain4j/langchain4j/issues/1079",
    json(400, { error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" } }),
    { type: "refusal" },
  ],
  [
    "DeepSeek's risk of content is a refusal",
    "https://github.com/666ghj/BettaFish/issues/108",
    json(400, openAiError("Content Exists Risk", { code: "invalid_request_error" })),
    { type: "refusal" },
  ],
  [
    "Qwen's inspection of the input is a refusal",
    "https://github.com/camel-ai/owl/issues/432",
    json(400, openAiError("Input data may contain inappropriate content.", { code: "data_inspection_failed" })),
    { type: "refusal" },
  ],
  [
    "a filter that speaks in the status of a failure is a refusal too",
    "https://github.com/langgenius/dify/issues/7932",
    json(500, openAiError("Input data may contain inappropriate content.", { type: null })),
    { type: "refusal" },
  ],
];

const anthropicRows: Row[] = [
  [
    "a page of Cloudflare for a server without an answer may pass, and is not shown",
    "https://github.com/anthropics/claude-code/issues/3197",
    page(520, "<!DOCTYPE html><title>api.anthropic.com | 520: Web server is returning an unknown error</title>"),
    failure("server-error", true, /520/, /DOCTYPE|title/),
  ],
  [
    "a prompt that leaves too little for the output limit is sent again with less",
    "https://github.com/docker/docker-agent/issues/569",
    json(
      400,
      anthropicError(
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
      ),
    ),
    failure("too-long", false),
  ],
  [
    "a prompt that is too long at Bedrock is sent again with less",
    "https://github.com/anthropics/claude-code/issues/760",
    json(400, anthropicError("Input is too long for requested model.")),
    failure("too-long", false),
  ],
  [
    "a conversation with a call without its result names the way out",
    "https://github.com/aaif-goose/goose/issues/2951",
    json(
      400,
      anthropicError(
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
      ),
    ),
    failure("bad-request", false, /\/remora new/),
  ],
  [
    "a place that Anthropic does not serve is told as that, and the key stays good",
    "https://github.com/enricoros/big-AGI/issues/485",
    json(403, { error: { type: "forbidden", message: "Request not allowed" } }),
    failure("region", false, /country that this machine is in.*ANTHROPIC_BASE_URL/, /another key/),
  ],
  [
    "a tool whose schema is refused by its number is left out, and the answer comes",
    "https://github.com/anthropics/claude-code/issues/7365",
    [
      json(
        400,
        anthropicError("tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12."),
      ),
      anthropicHello,
    ],
    { type: "answer", text: "Hello there", stop: "end" },
  ],
  [
    "an organization that was disabled is told with the setting of the key",
    "https://github.com/anthropics/claude-code/issues/8327",
    json(400, anthropicError("This organization has been disabled.")),
    failure("wrong-key", false, /ANTHROPIC_API_KEY/),
  ],
];

const pictureRows: Row[] = [
  [
    "a picture that the service can't read",
    "https://github.com/anthropics/claude-code/issues/46127",
    "Could not process image",
  ],
  [
    "a picture of too many bytes",
    "https://github.com/anthropics/claude-code/issues/20021",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes",
  ],
  [
    "a picture of too many pixels",
    "https://github.com/anthropics/claude-code/issues/49537",
    "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
  ],
].map(
  ([what = "", source = "", message = ""]): Row => [
    `${what} is left out, and the answer comes`,
    source,
    [json(400, anthropicError(message)), anthropicHello],
    { type: "answer", text: "Hello there", stop: "end" },
  ],
);

const ollamaRows: Row[] = [
  [
    "a page of Cloudflare for a slow server may pass, and is not shown",
    "https://github.com/ollama/ollama/issues/3694",
    page(524, "<!DOCTYPE html><title>524: A timeout occurred</title>"),
    failure("server-error", true, /524/, /DOCTYPE|title/),
  ],
];

export const refusals: FieldShape[] = [
  ...rowsOf("openai chat", filtered),
  ...rowsOf("anthropic", anthropicRows),
  ...rowsOf("anthropic", pictureRows, withPicture),
  ...rowsOf("ollama", ollamaRows),
];
