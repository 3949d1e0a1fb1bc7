/** Keys, accounts, addresses and limits that are refused at Chat Completions, in the words of services and gateways. */
import { failure, googleError, json, openAiError, page, type Row, rowsOf } from "./shape.ts";

const rows: Row[] = [
  [
    "a wrong key is a wrong key, although Google calls it a bad request",
    "https://github.com/cequence-io/openai-scala-client/issues/109",
    json(400, googleError(400, "API key not valid. Please pass a valid API key.", { status: "INVALID_ARGUMENT" })),
    failure("wrong-key", false, /OPENAI_API_KEY/),
  ],
  [
    "a wrong key is a wrong key, although xAI calls it a bad request, and nothing of the key is told",
    "https://github.com/continuedev/continue/issues/10778",
    json(400, {
      ...{ code: "Client specified an invalid argument" },
      error: "Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai.",
    }),
    failure("wrong-key", false, /OPENAI_API_KEY/, /na\*\*\*ys/),
  ],
  [
    "a country that is not served is told as that, and no other model is named as the way",
    "https://github.com/home-assistant/core/issues/120072",
    json(403, {
      error: {
        ...{ code: "unsupported_country_region_territory", message: "Country, region, or territory not supported" },
        ...{ param: null, type: "request_forbidden" },
      },
    }),
    failure("region", false, /[Cc]ountry.*OPENAI_BASE_URL/, /use another model/),
  ],
  [
    "a model that a project may not use is told as that",
    "https://github.com/cursor/cursor/issues/2953",
    json(403, openAiError("Project `proj_1` does not have access to model `gpt-4o-mini`", { code: "model_not_found" })),
    failure("forbidden", false, /models\.openai\.model/),
  ],
  [
    "a model that a key may not use is told as one that is not there",
    "https://github.com/mrwadams/stride-gpt/issues/28",
    json(
      404,
      openAiError("The model gpt-4o does not exist or you do not have access to it.", { code: "model_not_found" }),
    ),
    failure("unknown-model", false, /models\.openai\.model/),
  ],
  [
    "too little credit for the whole output limit is told as that",
    "https://github.com/continuedev/continue/issues/11154",
    json(402, {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 222.",
        code: 402,
      },
    }),
    failure("no-credit", false, /can only afford 222/),
  ],
  [
    "a redirect that would turn the request into another one is told with the setting of the address",
    "https://github.com/traefik/traefik/issues/1819",
    [{ status: 301, headers: { location: "/v1/moved" }, pieces: [] }],
    failure("bad-url", false, /301 `http:\S+\/v1\/moved`.*OPENAI_BASE_URL/),
  ],
  [
    "a redirect that keeps the request is told with the setting of the address",
    "https://github.com/langchain-ai/langserve/pull/304",
    [{ status: 307, headers: { location: "/v1/moved" }, pieces: [] }],
    failure("bad-url", false, /307 `http:\S+\/v1\/moved`.*OPENAI_BASE_URL/),
  ],
  ...(
    [
      ["negative", "-5", [0, 0], "https://github.com/planningcenter/developers/issues/606"],
      ["zero", "0", [0, 0], "https://github.com/joshuaswarren/remnic/pull/657"],
      ["a fraction", "0.493", [493, 493], "https://github.com/SpaceTradersAPI/api-docs/issues/24"],
      [
        "a date in the past",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        [0, 0],
        "https://github.com/Bike4Mind/bike4mind/pull/2159",
      ],
    ] as const
  ).map(
    ([name, value, wait, source]): Row => [
      `a wait that is ${name} breaks nothing`,
      source,
      json(429, openAiError("Slow down.", { code: "rate_limit_exceeded" }), { "retry-after": value }),
      { type: "failure", code: "provider.rate-limited", isRetryable: true, retryAfterMs: [...wait] },
    ],
  ),
  [
    "the wait that Gemini asks for in the body counts",
    "https://github.com/dcdpr/jp/pull/1061",
    json(
      429,
      googleError(429, "Resource exhausted.", {
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "45.837906927s" }],
      }),
    ),
    { type: "failure", code: "provider.rate-limited", isRetryable: true, retryAfterMs: [45_800, 45_900] },
  ],
  [
    "a deployment that Azure does not have is told with the setting of the model",
    "https://github.com/chatboxai/chatbox/issues/646",
    json(404, {
      error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." },
    }),
    failure("unknown-model", false, /models\.openai\.model/),
  ],
  [
    "an address without its /v1 is told with the setting of the address",
    "https://github.com/Chanzhaoyu/chatgpt-web/issues/737",
    json(404, openAiError("Invalid URL (POST /chat/completions)")),
    failure("not-an-api", false, /Invalid URL.*correct OPENAI_BASE_URL/),
  ],
  [
    "an account without billing is told as one without credit",
    "https://github.com/RamiAwar/dataline/issues/175",
    json(
      429,
      openAiError("Your account is not active, please check your billing details on our website.", {
        ...{ type: "billing_not_active", code: "billing_not_active" },
      }),
    ),
    failure("no-credit", false, /not active/),
  ],
  [
    "a model of llama.cpp that still loads may answer later",
    "https://github.com/mostlygeek/llama-swap/issues/146",
    json(503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }),
    failure("loading", true, /Loading model/),
  ],
  [
    "a request that Gemini itself has cancelled may be asked again",
    "https://github.com/googleapis/python-genai/issues/2506",
    json(499, googleError(499, "The operation was cancelled.", { status: "CANCELLED" })),
    failure("server-error", true),
  ],
  [
    "a place that Gemini does not serve is told as that",
    "https://github.com/poenl/gemini-api/issues/4",
    json(400, googleError(400, "User location is not supported for the API use.", { status: "FAILED_PRECONDITION" })),
    failure("region", false, /country that this machine is in.*OPENAI_BASE_URL/),
  ],
  [
    "a key that LiteLLM does not know is not told, nor its hash",
    "https://github.com/BerriAI/litellm/issues/11639",
    json(400, {
      error: {
        message:
          "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...ITlA, Key Hash (Token) =5ea43e256ed93ce3082d9e89be60b7b2ff5709391df2b35b2eca0e493eeb4c72.",
        ...{ type: "token_not_found_in_db", param: "key", code: "400" },
      },
    }),
    failure("wrong-key", false, /OPENAI_API_KEY/, /ITlA|5ea43e/),
  ],
  [
    "the wait in Groq's words counts",
    "https://github.com/elizaOS/eliza/issues/4040",
    json(
      429,
      openAiError(
        "Rate limit reached for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more tokens? Upgrade today",
        { type: "tokens", code: "rate_limit_exceeded" },
      ),
    ),
    { type: "failure", code: "provider.rate-limited", isRetryable: true, retryAfterMs: [4_769, 4_771] },
  ],
  [
    "a wait of minutes and seconds in words counts",
    "https://github.com/continuedev/continue/issues/10920",
    json(
      429,
      openAiError(
        "Rate limit reached for model `llama-3.3-70b-versatile` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s.",
        { type: "tokens", code: "rate_limit_exceeded" },
      ),
    ),
    { type: "failure", code: "provider.rate-limited", isRetryable: true, retryAfterMs: [578_015, 578_017] },
  ],
  [
    "Kimi's engine that is overloaded is told as that, although its status is that of too many requests",
    "https://github.com/MoonshotAI/kimi-cli/issues/2571",
    json(429, {
      error: {
        message: "The engine is currently overloaded, please try again later",
        type: "engine_overloaded_error",
      },
    }),
    failure("overloaded", true),
  ],
  [
    "a reason in Cloudflare's list of errors is told",
    "https://github.com/anomalyco/opencode/issues/18552",
    json(404, {
      ...{ result: null, success: false, messages: [] },
      errors: [{ code: 7003, message: "Could not route to /client/v4/accounts/x, perhaps your object is invalid?" }],
    }),
    failure("not-an-api", false, /404 `Could not route to/),
  ],
  [
    "a page of a proxy for which the request is too large is no wrong address",
    "https://github.com/ChronoAIProject/NyxID/issues/957",
    page(413, "<html><head><title>413 Request Entity Too Large</title></head><center>nginx</center></html>"),
    failure("too-long", false, /413/, /OPENAI_BASE_URL|center/),
  ],
];

export const refusedAccess = rowsOf("openai chat", rows);
