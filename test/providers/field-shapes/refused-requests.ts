/** Requests of Chat Completions that are refused for what they contain, in the words of services and gateways. */
import { chunk, done, failure, googleError, json, openAiError, type Row, rowsOf, said, stream } from "./shape.ts";

const rows: Row[] = [
  [
    "a reason in FastAPI's own form is told",
    "https://github.com/zeroclaw-labs/zeroclaw/issues/2693",
    json(422, { detail: [{ type: "extra_forbidden", loc: ["body", "tools"], msg: "Extra inputs are not permitted" }] }),
    failure("bad-request", false, /Extra inputs are not permitted/),
  ],
  [
    "a reason inside an object as message, as Mistral sends it, is told",
    "https://github.com/Gage-Technologies/mistral-go/issues/3",
    json(422, {
      ...{ object: "error", type: "invalid_request_error", param: null, code: null },
      message: { detail: [{ type: "extra_forbidden", loc: ["body"], msg: "Extra inputs are not permitted" }] },
    }),
    failure("bad-request", false, /Extra inputs are not permitted/),
  ],
  [
    "the reason behind OpenRouter's `Provider returned error` is told",
    "https://github.com/open-webui/computer/issues/293",
    json(400, {
      error: {
        ...{ message: "Provider returned error", code: 400 },
        metadata: {
          raw: '{"error":{"message":"Model supports at most 1 image per prompt."}}',
          provider_name: "Crucible",
        },
      },
    }),
    failure("bad-request", false, /at most 1 image per prompt/),
  ],
  [
    "a reason in Google's list is told",
    "https://github.com/SuzumiyaAkizuki/ComfyUI-NewBie-LLM-Formatter/issues/3",
    json(400, googleError(400, 'Invalid JSON payload received. Unknown name "reasoning": Cannot find field.')),
    failure("bad-request", false, /Unknown name "reasoning"/),
  ],
  [
    "a prompt that is too long for Gemini is sent again with less",
    "https://github.com/google-gemini/gemini-cli/issues/12098",
    json(
      400,
      googleError(400, "The input token count (314175) exceeds the maximum number of tokens allowed (131072)."),
    ),
    failure("too-long", false),
  ],
  [
    "a prompt that is too long for Grok is sent again with less",
    "https://github.com/cline/cline/issues/3120",
    json(400, { error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens." }),
    failure("too-long", false),
  ],
  [
    "a prompt that is too long for a server of DeepSeek R1 is sent again with less",
    "https://github.com/RooCodeInc/Roo-Code/issues/2988",
    json(400, openAiError("Input length 72054 exceeds the maximum length 65536")),
    failure("too-long", false),
  ],
  [
    "a prompt that is too long for a model at OpenRouter is sent again with less",
    "https://github.com/refly-ai/refly/issues/1177",
    json(400, {
      error: {
        message: "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens.",
        code: 400,
      },
    }),
    failure("too-long", false),
  ],
  [
    "a request that Groq's limit per minute never allows is sent again with less",
    "https://github.com/HunorLaczko/ha-groq-cloud-api/issues/27",
    json(413, {
      error: {
        message:
          "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 12328",
        ...{ type: "tokens", code: "rate_limit_exceeded" },
      },
    }),
    failure("too-long", false, /Limit 6000, Requested 12328/),
  ],
  [
    "a request that OpenAI's limit per minute never allows is sent again with less, not later",
    "https://github.com/vanna-ai/vanna-flask/issues/11",
    json(429, {
      error: {
        message:
          "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.",
        ...{ type: "tokens", code: "rate_limit_exceeded" },
      },
    }),
    failure("too-long", false),
  ],
  [
    "an output limit that is too large for the model is told with the setting for it",
    "https://github.com/tailcallhq/forgecode/issues/1185",
    json(
      400,
      openAiError(
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.",
        { param: "max_tokens", code: "invalid_value" },
      ),
    ),
    failure("bad-request", false, /models\.maxOutputTokens/),
  ],
  [
    "an output limit that is too large for a model of Bedrock is told with the setting for it",
    "https://github.com/charmbracelet/crush/issues/946",
    json(400, { message: "The maximum tokens you requested exceeds the model limit of 32768" }),
    failure("bad-request", false, /models\.maxOutputTokens/),
  ],
  [
    "an output limit that leaves too little of vLLM's context is told with the setting for it",
    "https://github.com/vllm-project/vllm/issues/42474",
    json(400, {
      error: {
        message:
          "This model's maximum context length is 16384 tokens. However, you requested 16000 output tokens and your prompt contains at least 385 input tokens, for a total of at least 16385 tokens.",
        ...{ type: "BadRequestError", code: 400 },
      },
    }),
    failure("too-long", false, /models\.maxOutputTokens/),
  ],
  [
    "a tool whose schema is refused by its place is left out, and the answer comes",
    "https://github.com/evalstate/fast-agent/issues/143",
    [
      json(
        400,
        openAiError(
          "Invalid schema for function 'mongodb-list-databases': In context=(), object schema missing properties.",
          {
            ...{ param: "tools[1].function.parameters", code: "invalid_function_parameters" },
          },
        ),
      ),
      stream(said("Hello there"), chunk({}, "stop"), done),
    ],
    { type: "answer", text: "Hello there", stop: "end" },
  ],
  [
    "a template that wants roles to alternate is told with the setting of the model",
    "https://github.com/vllm-project/vllm/issues/6862",
    json(400, {
      ...{ object: "error", type: "BadRequestError", param: null, code: 400 },
      message: "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    }),
    failure("bad-request", false, /roles must alternate.*\/remora new.*models\.openai\.model/),
  ],
  [
    "a prompt that is too long for Qwen is sent again with less",
    "https://github.com/QwenLM/Qwen-Agent/issues/615",
    json(400, openAiError("Range of input length should be [1, 30720]")),
    failure("too-long", false),
  ],
  [
    "a call without its result names the way out",
    "https://github.com/QwenLM/qwen-code/issues/315",
    json(
      400,
      openAiError(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      ),
    ),
    failure("bad-request", false, /\/remora new/, /OPENAI_BASE_URL/),
  ],
  [
    "a tool parser that vLLM was started without is told with the options that it needs",
    "https://github.com/langchain4j/langchain4j/issues/3475",
    json(400, {
      ...{ object: "error", type: "BadRequestError", param: null, code: 400 },
      message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    }),
    failure("tools-off", false, /--enable-auto-tool-choice/, /OPENAI_BASE_URL/),
  ],
  [
    "a model at OpenRouter that can't use tools is told as that",
    "https://github.com/evalstate/fast-agent/issues/122",
    json(404, {
      error: {
        message: "No endpoints found that support tool use. To learn more, visit: https://openrouter.ai",
        code: 404,
      },
    }),
    failure("no-tools", false, /models\.openai\.model/),
  ],
  [
    "an account's own rule that leaves no server at OpenRouter is told with its page",
    "https://github.com/dnakov/anon-kode/issues/13",
    json(404, {
      error: {
        message:
          "No endpoints found matching your data policy. Check your settings: https://openrouter.ai/settings/privacy",
        code: 404,
      },
    }),
    failure("unknown-model", false, /openrouter\.ai\/settings\/privacy/),
  ],
];

const orphans = [
  "No tool output found for function call call_1.",
  "No tool call found for function call output with call_id call_1.",
];

export const refusedRequests = [
  ...rowsOf("openai chat", rows),
  ...rowsOf(
    "openai responses",
    orphans.map(
      (message): Row => [
        `“${message}” names the way out`,
        "https://github.com/router-for-me/CLIProxyAPI/issues/2368",
        json(400, openAiError(message, { param: "input" })),
        failure("bad-request", false, /\/remora new/, /OPENAI_BASE_URL/),
      ],
    ),
  ),
];
