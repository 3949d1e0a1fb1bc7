/** Keys, accounts, addresses and limits that are refused at Chat Completions, in the words of services and gateways. */
import { chunk, done, failure, googleError, json, openAiError, type Row, rowsOf, said, stream } from "./shape.ts";

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
    "a redirect that turns the request into another one is told with the setting of the address",
    "https://github.com/traefik/traefik/issues/1819",
    [
      { status: 301, headers: { location: "/v1/moved" }, pieces: [] },
      { status: 405, headers: { "content-type": "text/plain" }, pieces: ["Method Not Allowed"] },
    ],
    failure("bad-request", false, /405 Method Not Allowed.*OPENAI_BASE_URL/),
  ],
  [
    "a redirect that keeps the request is followed",
    "https://github.com/langchain-ai/langserve/pull/304",
    [
      { status: 307, headers: { location: "/v1/moved" }, pieces: [] },
      stream(said("Hello there"), chunk({}, "stop"), done),
    ],
    { type: "answer", text: "Hello there", stop: "end" },
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
    failure("unknown-model", false, /Invalid URL.*OPENAI_BASE_URL/),
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
    failure("overloaded", true, /Loading model/),
  ],
  [
    "a request that Gemini itself has cancelled may be asked again",
    "https://github.com/googleapis/python-genai/issues/2506",
    json(499, googleError(499, "The operation was cancelled.", { status: "CANCELLED" })),
    failure("server-error", true),
  ],
];

export const refusedAccess = rowsOf("openai chat", rows);
