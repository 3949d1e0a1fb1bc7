/** What Groq refuses, and how it answers. */
import { limitIn, messagesIn, promptTokens, read, thoughts } from "./chat.ts";
import { openAiRefusal } from "./openai.ts";
import { type ModelRule, pathRule, type Refusal } from "./rule.ts";

export const groqErrors = {
  wrongKey: openAiRefusal("Invalid API Key", { code: "invalid_api_key", status: 401 }),
  tooMany: {
    status: 429,
    headers: { "retry-after": "10" },
    body: {
      error: {
        message:
          "Rate limit reached for model `openai/gpt-oss-120b` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Used 7034, Requested 2443. Please try again in 9.77s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        ...{ type: "tokens", code: "rate_limit_exceeded" },
      },
    },
  },
  /** The model wrote a call that is not one. */
  badCall: {
    status: 400,
    body: {
      error: {
        message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        ...{ type: "invalid_request_error", code: "tool_use_failed" },
        failed_generation: '<function=look_up{"place": "Berlin"}</function>',
      },
    },
  },
} satisfies Record<string, Refusal>;

/** Of the free plan, for gpt-oss. */
const groqTokensPerMinute = 8000;

export const groqRules: readonly ModelRule[] = [
  pathRule(["/openai/v1/chat/completions", "/openai/v1/responses"], "https://console.groq.com/docs/openai", {
    error: { message: "Unknown request URL", type: "invalid_request_error", code: "unknown_url" },
  }),
  {
    says: "reasoning_content is unknown in messages",
    source: "https://github.com/janhq/jan/issues/8136",
    read,
    refuse(call) {
      const at = messagesIn(call).findIndex((message) => message.reasoning_content !== undefined);
      if (at === -1) return undefined;
      const place = `'messages.${at}'`;
      return openAiRefusal(
        `${place} : for 'role:assistant' the following must be satisfied[(${place} : property 'reasoning_content' is unsupported)]`,
      );
    },
  },
  {
    says: "reasoning is refused in messages to a model that does not reason",
    source: "https://github.com/vercel/ai/pull/8057",
    read,
    refuse(call) {
      const at = messagesIn(call).findIndex((message) => message.reasoning !== undefined);
      if (at === -1 || /gpt-oss|qwen3/.test(String(call.body.model))) return undefined;
      return openAiRefusal(`messages[${at}].reasoning: reasoning is not supported with this model`);
    },
  },
  {
    says: "logprobs, logit_bias, top_logprobs and messages[].name are not supported",
    source: "https://console.groq.com/docs/openai",
    read,
    refuse(call) {
      const field = ["logprobs", "logit_bias", "top_logprobs"].find((name) => call.body[name] !== undefined);
      const named = messagesIn(call).some(({ name }) => name !== undefined) ? "messages[].name" : undefined;
      const wrong = field ?? named;
      return wrong === undefined ? undefined : openAiRefusal(`property '${wrong}' is unsupported`);
    },
  },
  {
    says: "the longest answer counts as used against the tokens per minute, so that a free plan refuses a request alone for it",
    source: "https://github.com/zeeyado/koassistant.koplugin/issues/106",
    read,
    refuse(call) {
      const requested = promptTokens(call) + limitIn(call);
      if (!String(call.body.model).includes("free-plan") || requested <= groqTokensPerMinute) return undefined;
      const message = `Request too large for model \`${call.body.model}\` in organization \`org_01\` service tier \`on_demand\` on tokens per minute (TPM): Limit ${groqTokensPerMinute}, Requested ${requested}, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing`;
      return { status: 413, body: { error: { message, type: "tokens", code: "rate_limit_exceeded" } } };
    },
  },
  {
    says: "a model has a highest limit for its answers",
    source: "https://github.com/skapadia3214/groq-moa/issues/8",
    read,
    refuse(call) {
      if (!String(call.body.model).includes("8b-instant") || limitIn(call) <= 8000) return undefined;
      return openAiRefusal(`max_tokens for \`${call.body.model}\` must be less than or equal to 8000`);
    },
  },
  thoughts("gpt-oss gives its reasoning as `reasoning`", "https://github.com/vercel/ai/pull/8057", (reasoning) => ({
    reasoning,
  })),
];
