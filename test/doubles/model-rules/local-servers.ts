/** What servers of local models refuse that speak OpenAI's Chat Completions: vLLM, llama.cpp and LM Studio. */

import {
  alternation,
  functionsIn,
  hasTools,
  limitIn,
  messagesIn,
  promptTokens,
  read,
  rolesAlternate,
  thoughts,
} from "./chat.ts";
import { openAiRefusal } from "./openai.ts";
import { type ModelCall, type ModelRule, pathRule, type Refusal } from "./rule.ts";
import { llamaSchemaRules } from "./tool-schemas.ts";

/** A double tells from the model's name how its server was started: `…-16k` has that context. */
function contextOf({ body }: ModelCall): number {
  const [, thousands = "128"] = /-(\d+)k\b/.exec(String(body.model)) ?? [];
  return Number(thousands) * 1024;
}

const isStartedWithout = (what: string, { body }: ModelCall) => String(body.model).includes(`-without-${what}`);

export const vllmErrors = {
  wrongKey: { status: 401, body: { error: "Unauthorized" } },
} satisfies Record<string, Refusal>;

function vllmRefusal(message: string): Refusal {
  return { status: 400, body: { error: { message, type: "BadRequestError", param: null, code: 400 } } };
}

export const vllmRules: readonly ModelRule[] = [
  pathRule(["/v1/chat/completions", "/v1/responses"], "https://docs.vllm.ai/en/latest/features/tool_calling/", {
    detail: "Not Found",
  }),
  {
    says: "a server takes tools only if it was started for them",
    source: "https://github.com/vllm-project/vllm/issues/9986",
    read,
    refuse(call) {
      if (!hasTools(call) || !isStartedWithout("tools", call)) return undefined;
      return vllmRefusal('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set');
    },
  },
  {
    says: "the prompt and the longest answer must fit into the context together",
    source: "https://github.com/vllm-project/vllm/issues/42474",
    read,
    refuse(call) {
      const [prompt, limit, context] = [promptTokens(call), limitIn(call), contextOf(call)];
      if (prompt + limit <= context) return undefined;
      // It counts the prompt no further than to where it is too long.
      const least = context - limit + 1;
      return vllmRefusal(
        `This model's maximum context length is ${context} tokens. However, you requested ${limit} output tokens and your prompt contains at least ${least} input tokens, for a total of at least ${context + 1} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`,
      );
    },
  },
  alternation(
    "https://github.com/OpenSecretCloud/opensecret/issues/120",
    vllmRefusal(`${rolesAlternate} ${rolesAlternate}`),
  ),
  thoughts(
    "reasoning comes as `reasoning`, and the model reads that field of earlier messages alone",
    "https://github.com/vllm-project/vllm/issues/38488",
    (reasoning) => ({ reasoning }),
  ),
];

export const llamaCppErrors = {
  wrongKey: { status: 401, body: { error: { code: 401, message: "Invalid API Key", type: "authentication_error" } } },
  loading: { status: 503, body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } } },
} satisfies Record<string, Refusal>;

/** Its source before its words, as a template that raises an exception is answered. */
export const templateException = {
  code: 500,
  message: `\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}↵        {{ raise_exception("Conversation roles must alternate user...\n                                           ^\nError: Jinja Exception: ${rolesAlternate}`,
  type: "server_error",
};

export const llamaCppRules: readonly ModelRule[] = [
  pathRule(["/v1/chat/completions"], "https://github.com/ggml-org/llama.cpp/pull/11016", {
    error: { code: 404, message: "File Not Found", type: "not_found_error" },
  }),
  {
    says: "an older server takes tools only with --jinja",
    source: "https://github.com/defilantech/LLMKube/issues/126",
    read,
    refuse(call) {
      if (!hasTools(call) || !isStartedWithout("jinja", call)) return undefined;
      return {
        status: 500,
        body: { error: { code: 500, message: "tools param requires --jinja flag", type: "server_error" } },
      };
    },
  },
  {
    says: "a prompt longer than the context is refused, with both numbers",
    source: "https://github.com/ikawrakow/ik_llama.cpp/pull/2420",
    read,
    refuse(call) {
      const [tokens, context] = [promptTokens(call), contextOf(call)];
      if (tokens <= context) return undefined;
      const message = `request (${tokens} tokens) exceeds the available context size (${context} tokens), try increasing it`;
      const error = { code: 400, message, type: "exceed_context_size_error", n_prompt_tokens: tokens, n_ctx: context };
      return { status: 400, body: { error } };
    },
  },
  ...llamaSchemaRules(functionsIn, (message) => ({
    ...{ status: 400, body: { error: { code: 400, message, type: "invalid_request_error" } } },
  })),
  alternation("https://github.com/idiap/sdialog/issues/122", { status: 500, body: { error: templateException } }),
  thoughts(
    "reasoning comes as reasoning_content",
    "https://github.com/ggml-org/llama.cpp/issues/14894",
    (reasoning_content) => ({ reasoning_content }),
  ),
];

export const lmStudioErrors = {
  nothingLoaded: openAiRefusal(
    "No models loaded. Please load a model in the developer page or use the `lms load` command.",
    { param: "model", code: "model_not_found", status: 404 },
  ),
} satisfies Record<string, Refusal>;

export const lmStudioRules: readonly ModelRule[] = [
  pathRule(["/v1/chat/completions", "/v1/responses"], "https://lmstudio.ai/docs/api/openai-api", {
    error: "Unexpected endpoint or method. (POST /chat/completions)",
  }),
  {
    says: "a prompt longer than the context with which the model was loaded is refused",
    source: "https://github.com/tinyhumansai/openhuman/issues/3550",
    read,
    refuse(call) {
      const [tokens, context] = [promptTokens(call), contextOf(call)];
      if (tokens <= context) return undefined;
      return openAiRefusal(
        `The number of tokens to keep from the initial prompt is greater than the context length (n_keep: ${tokens} >= n_ctx: ${context}). Try to load the model with a larger context length, or provide a shorter prompt.`,
      );
    },
  },
  {
    says: "gpt-oss takes its text or its thinking with a call, not both",
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/842",
    read,
    refuse(call) {
      const isBoth = messagesIn(call).some(
        ({ tool_calls: calls = [], content, reasoning }) => calls.length > 0 && Boolean(content) && Boolean(reasoning),
      );
      if (!isBoth) return undefined;
      return openAiRefusal(
        'Error rendering prompt with jinja template: "Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis message in one or the other, but not both.".',
      );
    },
  },
  alternation(
    "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/842",
    openAiRefusal(`Error rendering prompt with jinja template: "${rolesAlternate}".`),
  ),
  thoughts(
    "the reasoning of gpt-oss comes as `reasoning`, as OpenAI advises",
    "https://github.com/vllm-project/vllm/issues/27755",
    (reasoning) => ({ reasoning }),
  ),
];
