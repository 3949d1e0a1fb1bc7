/**
 * What services answer when an account may not spend, and answers that only look like it. Each is a claim about the real
 * service, with the public page that it comes from. Where a page describes the error without its words, the words are ours.
 */
export interface MoneyAnswer {
  service: string;
  says: string;
  source: string;
  /** The day on which the page was read, as YYYY-MM-DD. */
  read: string;
  status: number;
  headers?: Record<string, string>;
  body: unknown;
  means: "spend-limit" | "no-credit" | "rate-limited";
  /** When the limit resets, as the service says it. */
  resetsAt?: string;
}

const read = "2026-11-27";
const errors = "https://www.developersdigest.tech/errors/api";

function anthropic(type: string, message: string, error_code?: string): unknown {
  return { type: "error", error: { type, message, ...(error_code === undefined ? {} : { details: { error_code } }) } };
}

function openAi(
  code: string,
  message = "You exceeded your current quota, please check your plan and billing details.",
) {
  return { error: { message, type: "insufficient_quota", param: null, code } };
}

function gemini(code: number, message: string, details?: unknown[]): unknown {
  return { error: { code, message, status: "RESOURCE_EXHAUSTED", ...(details === undefined ? {} : { details }) } };
}

function geminiQuota(quotaId: string, retryDelay: string): unknown {
  return gemini(429, "You exceeded your current quota, please check your plan and billing details.", [
    {
      "@type": "type.googleapis.com/google.rpc.QuotaFailure",
      violations: [{ quotaId, quotaDimensions: { model: "gemini-3-flash", location: "global" } }],
    },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
  ]);
}

const xAiLimit =
  "Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.";

export const moneyAnswers: readonly MoneyAnswer[] = [
  {
    ...{ service: "Anthropic", says: "the tier's monthly cap is reached", read },
    source: `${errors}/anthropic-api/429-enforced-spend-limit-reached`,
    status: 429,
    body: anthropic(
      "rate_limit_error",
      "This request would exceed your account's monthly spend limit. Please try again later.",
      "enforced_spend_limit_reached",
    ),
    means: "spend-limit",
  },
  {
    ...{ service: "Anthropic", says: "the contract's limit is reached", read },
    source: "https://github.com/anthropics/anthropic-sdk-typescript/blob/main/CHANGELOG.md",
    status: 429,
    body: anthropic("rate_limit_error", "Please contact your account team.", "contract_spend_limit_reached"),
    means: "spend-limit",
  },
  {
    ...{ service: "Anthropic", says: "a spend limit without a code, with minutes to wait", read },
    source: "https://github.com/can1357/oh-my-pi/pull/5418",
    status: 429,
    headers: { "retry-after": "240" },
    body: {
      type: "error",
      error: {
        details: null,
        type: "rate_limit_error",
        message: "This request would exceed your account's monthly spend limit. Please try again later.",
      },
    },
    means: "spend-limit",
  },
  {
    ...{ service: "Anthropic", says: "the organization's own limit is reached", read },
    source: "https://github.com/anthropics/claude-code/issues/38035",
    status: 400,
    body: anthropic(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2099-04-01 at 00:00 UTC.",
    ),
    ...{ means: "spend-limit", resetsAt: "2099-04-01T00:00:00Z" },
  },
  {
    ...{ service: "Anthropic", says: "the workspace's own limit is reached", read },
    source: `${errors}/anthropic-api/400-spend-limit-reached`,
    status: 400,
    body: anthropic(
      "invalid_request_error",
      "You have reached your specified workspace API usage limits. You will regain access on 2099-04-01 at 00:00 UTC.",
    ),
    ...{ means: "spend-limit", resetsAt: "2099-04-01T00:00:00Z" },
  },
  {
    ...{ service: "Anthropic", says: "the credit balance is too low", read },
    source: "https://portkey.ai/error-library/account-billing-error-10155",
    status: 400,
    body: anthropic(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    means: "no-credit",
  },
  {
    ...{ service: "Anthropic", says: "there is an issue with the payment", read },
    source: `${errors}/anthropic-api`,
    status: 402,
    body: anthropic("billing_error", "There's an issue with your billing or payment information."),
    means: "no-credit",
  },
  {
    ...{ service: "Anthropic", says: "too many tokens in a minute", read },
    source: `${errors}/anthropic-api/429-rate-limit-error`,
    status: 429,
    headers: { "retry-after": "20" },
    body: anthropic("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit."),
    means: "rate-limited",
  },
  {
    ...{ service: "OpenAI", says: "no prepaid credits are left", read },
    source: "https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits",
    status: 429,
    body: openAi("credit_balance_exhausted"),
    means: "no-credit",
  },
  {
    ...{ service: "OpenAI", says: "the organization's limit is reached", read },
    source: "https://developers.openai.com/api/docs/guides/spend-limits",
    status: 429,
    body: openAi("organization_spend_limit_exceeded"),
    means: "spend-limit",
  },
  {
    ...{ service: "OpenAI", says: "the project's limit is reached", read },
    source:
      "https://dev.to/sublynow/your-openai-api-429-is-not-always-a-rate-limit-reading-insufficientquota-by-errorcode-1mbl",
    status: 429,
    body: openAi("project_spend_limit_exceeded"),
    means: "spend-limit",
  },
  {
    ...{ service: "OpenAI", says: "the assigned usage limit is reached", read },
    source: "https://help.openai.com/en/articles/5955604-troubleshooting-api-rate-limits-and-429-errors",
    status: 429,
    body: openAi("organization_usage_limit_exceeded"),
    means: "spend-limit",
  },
  {
    ...{ service: "OpenAI", says: "the quota is exceeded, without a finer code", read },
    source: "https://benchr.org/errors/openai-insufficient-quota",
    status: 429,
    body: openAi("insufficient_quota"),
    means: "no-credit",
  },
  {
    ...{ service: "OpenAI", says: "too many tokens in a minute", read },
    source: `${errors}/openai-api`,
    status: 429,
    body: {
      error: {
        message: "Rate limit reached for gpt-6-luna on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
        ...{ type: "tokens", param: null, code: "rate_limit_exceeded" },
      },
    },
    means: "rate-limited",
  },
  {
    ...{ service: "OpenRouter", says: "the balance does not cover the request", read },
    source: "https://github.com/Gitlawb/openclaude/issues/1125",
    status: 402,
    body: {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        ...{ code: 402, metadata: { provider_name: null } },
      },
    },
    means: "no-credit",
  },
  {
    ...{ service: "OpenRouter", says: "running requests fill the budget for a moment", read },
    source: `${errors}/openrouter/402-in-flight-budget-exhausted`,
    status: 402,
    headers: { "retry-after": "5" },
    body: {
      error: {
        ...{ code: 402, message: "In-flight spending budget exhausted." },
        metadata: { limit_source: "openrouter_in_flight_budget" },
      },
    },
    means: "rate-limited",
  },
  {
    ...{ service: "OpenRouter", says: "the key's own limit is spent", read },
    source: "https://github.com/MCPJam/inspector/issues/1287",
    status: 403,
    body: {
      error: {
        ...{
          code: 403,
          message: "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
        },
      },
    },
    means: "spend-limit",
  },
  {
    ...{ service: "OpenRouter", says: "a workspace's budget is spent, with the time of its reset", read },
    source: `${errors}/openrouter/403-budget-limit-exceeded`,
    status: 403,
    body: {
      error: {
        ...{ code: 403, message: "Budget limit exceeded" },
        metadata: {
          ...{ limit_source: "openrouter_workspace_budget", scope: "workspace", limit_usd: 50, spend_usd: 50.2 },
          resets_at: "2099-10-12T00:00:00.000Z",
        },
      },
    },
    ...{ means: "spend-limit", resetsAt: "2099-10-12T00:00:00Z" },
  },
  {
    ...{ service: "Gemini", says: "the prepaid credits are depleted", read },
    source:
      "https://discuss.ai.google.dev/t/api-update-depleted-prepay-credits-now-return-http-402-instead-of-429/183654",
    status: 402,
    body: gemini(
      402,
      "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
    ),
    means: "no-credit",
  },
  {
    ...{ service: "Gemini", says: "the prepaid credits are depleted, as said before August 2026", read },
    source: "https://discuss.ai.google.dev/t/gemini-api-errors-with-exhausted-resources/169216",
    status: 429,
    body: gemini(429, "Your prepayment credits are depleted."),
    means: "no-credit",
  },
  {
    ...{ service: "Gemini", says: "too many requests in a minute", read },
    source: "https://github.com/google-gemini/gemini-cli/issues/8437",
    status: 429,
    body: geminiQuota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "33s"),
    means: "rate-limited",
  },
  {
    ...{ service: "Gemini", says: "too many requests today", read },
    source: "https://github.com/gke-labs/gemini-for-kubernetes-development/issues/1215",
    status: 429,
    body: geminiQuota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "33s"),
    means: "rate-limited",
  },
  {
    ...{ service: "Gemini", says: "a quota is exceeded, and nothing says which", read },
    source: "https://github.com/google-gemini/gemini-cli/issues/19976",
    status: 429,
    body: gemini(429, "Resource has been exhausted (e.g. check quota)."),
    means: "rate-limited",
  },
  {
    ...{ service: "DeepSeek", says: "the balance is used up", read },
    source: `${errors}/mistral-api/402-payment-required`,
    status: 402,
    body: {
      error: { message: "Insufficient Balance", type: "unknown_error", param: null, code: "invalid_request_error" },
    },
    means: "no-credit",
  },
  {
    ...{ service: "xAI", says: "credits or the monthly limit are used up, as too many requests", read },
    source: "https://github.com/continuedev/continue/issues/10373",
    status: 429,
    body: { code: "Some resource has been exhausted", error: xAiLimit },
    means: "spend-limit",
  },
  {
    ...{ service: "xAI", says: "credits or the monthly limit are used up, as forbidden", read },
    source: "https://github.com/Anantys-oss/koan/issues/2412",
    status: 403,
    body: { code: "permission-denied", error: xAiLimit },
    means: "spend-limit",
  },
  {
    ...{ service: "xAI", says: "the credits are used up", read },
    source: "https://github.com/Wei-Shaw/sub2api/issues/4069",
    status: 403,
    body: { code: "permission-denied", error: "You have run out of credits or need a Grok subscription." },
    means: "no-credit",
  },
  {
    ...{ service: "Groq", says: "the organization's limit is reached", read },
    source: "https://console.groq.com/docs/spend-limits",
    status: 400,
    body: { error: { message: "API access is blocked.", type: "invalid_request_error", code: "blocked_api_access" } },
    means: "spend-limit",
  },
  {
    ...{ service: "Mistral", says: "a billing condition blocks the request", read },
    source: `${errors}/mistral-api/402-payment-required`,
    status: 402,
    body: { object: "error", message: "Payment required", type: "payment_required", param: null, code: "3401" },
    means: "no-credit",
  },
  {
    ...{ service: "Together", says: "the monthly limit is reached", read },
    source: "https://docs.together.ai/docs/error-codes",
    status: 402,
    body: {
      error: { message: "You have reached the maximum allowed monthly spending limit.", type: "payment", code: null },
    },
    means: "spend-limit",
  },
  {
    ...{ service: "Alibaba", says: "the account is in arrears", read },
    source: "https://github.com/tencentmusic/supersonic/issues/1572",
    status: 400,
    body: { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." },
    means: "no-credit",
  },
  {
    ...{ service: "a reseller", says: "in Chinese that the quota is used up", read },
    source: "https://github.com/QuantumNous/new-api/issues/6929",
    status: 403,
    body: { error: { message: "用户额度不足, 剩余额度: ＄-0.000002", type: "new_api_error", code: "" } },
    means: "no-credit",
  },
  {
    ...{ service: "a gateway", says: "the key's budget is exceeded", read },
    source: "https://developers.telnyx.com/docs/agent-gateway/traffic/budgets-and-rate-limits",
    status: 422,
    body: { error: { message: "Budget has been exceeded!", type: "budget_exceeded", param: null, code: "422" } },
    means: "spend-limit",
  },
  {
    ...{ service: "a gateway", says: "a spend limit is exceeded, as a code", read },
    source: "https://github.com/cline/cline/pull/10207",
    status: 429,
    body: { error: { message: "Please ask your admin.", code: "SPEND_LIMIT_EXCEEDED" } },
    means: "spend-limit",
  },
  {
    ...{ service: "Azure", says: "the tokens of a deployment are used up for a day", read },
    source: "https://github.com/alex-wolf-ps/dbchatprov2/issues/2",
    status: 429,
    headers: { "retry-after": "86400" },
    body: {
      error: {
        code: "429",
        message:
          "Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds.",
      },
    },
    means: "rate-limited",
  },
];
