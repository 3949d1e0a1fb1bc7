/**
 * The table of docs/models.md: each service with the settings that its section shows, word for word, asked by the real client
 * libraries, against a double that refuses what the service's reference or public reports say it refuses.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ModelDouble } from "../doubles/model.ts";
import { groqErrors } from "../doubles/model-rules/groq.ts";
import { bedrockErrors, deepSeekErrors } from "../doubles/model-rules/hosted.ts";
import { llamaCppErrors, vllmErrors } from "../doubles/model-rules/local-servers.ts";
import { mistralErrors } from "../doubles/model-rules/mistral.ts";
import type { Refusal } from "../doubles/model-rules/rule.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, collect, failureIn, textIn } from "./apis.ts";
import {
  answered,
  answerOf,
  blocksOf,
  type Documented,
  page,
  providerOf,
  script,
  startAt,
  turn,
} from "./documented-services.ts";

interface Row extends Documented {
  double: ModelService;
  path: string;
  /** The field by which reasoning goes back in the same turn. Absent: the service gives none, or takes none back. */
  goesBack?: string;
  seesPictures: boolean;
  wrongKey?: Refusal;
  tooMany?: Refusal;
}

/** As OpenAI and most others say it. */
const wrongKey: Refusal = {
  status: 401,
  body: { error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" } },
};
const tooMany: Refusal = {
  status: 429,
  body: { error: { message: "Rate limit reached", type: "tokens", code: "rate_limit_exceeded" } },
};
const hosted = { wrongKey, tooMany };
const chat = "/v1/chat/completions";

const rows: Row[] = [
  {
    service: "Anthropic",
    double: "anthropic",
    path: "/v1/messages",
    goesBack: "signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "OpenAI",
    double: "openai",
    path: "/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "Azure",
    double: "azure",
    path: "/openai/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  { service: "Bedrock", double: "bedrock", path: "/openai/v1/chat/completions", seesPictures: true, ...bedrockErrors },
  {
    service: "Bedrock",
    block: 1,
    double: "bedrock",
    path: "/anthropic/v1/messages",
    goesBack: "signature",
    seesPictures: true,
    ...bedrockErrors,
  },
  {
    service: "Vertex",
    double: "vertex",
    path: "/v1/projects/your-project/locations/global/endpoints/openapi/chat/completions",
    goesBack: "thought_signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "Gemini",
    double: "gemini",
    path: "/v1beta/openai/chat/completions",
    goesBack: "thought_signature",
    seesPictures: true,
    ...hosted,
  },
  {
    service: "OpenRouter",
    double: "openRouterWithGemini",
    path: "/api/v1/chat/completions",
    goesBack: "reasoning_details",
    seesPictures: true,
    ...hosted,
  },
  { service: "Groq", double: "groq", path: `/openai${chat}`, goesBack: "reasoning", seesPictures: true, ...groqErrors },
  { service: "Mistral", double: "mistral", path: chat, seesPictures: true, ...mistralErrors },
  {
    service: "DeepSeek",
    double: "deepSeek",
    path: "/chat/completions",
    goesBack: "reasoning_content",
    seesPictures: false,
    ...deepSeekErrors,
  },
  {
    service: "xAI",
    double: "xai",
    path: "/v1/responses",
    goesBack: "encrypted_content",
    seesPictures: true,
    ...hosted,
  },
  { service: "Ollama", double: "ollama", path: "/api/chat", goesBack: "thinking", seesPictures: true },
  {
    service: "llama.cpp",
    double: "llamaCpp",
    path: chat,
    goesBack: "reasoning_content",
    seesPictures: true,
    wrongKey: llamaCppErrors.wrongKey,
  },
  {
    service: "vLLM",
    double: "vllm",
    path: chat,
    goesBack: "reasoning",
    seesPictures: true,
    wrongKey: vllmErrors.wrongKey,
  },
  { service: "LM Studio", double: "lmStudio", path: chat, seesPictures: true },
];

let double: ModelDouble;
const bodyNow = () => JSON.stringify(double.requests.at(-1)?.body);
const picture = {
  mimeType: "image/png",
  base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

test("the page's table, its sections and these tests have the same services", () => {
  const table = [...page.matchAll(/^\| \[([^\]]+)\]/gm)].map(([, name]) => name);
  const tested = [...new Set(rows.map(({ service }) => service))];
  expect(table).toEqual(tested);
  expect(tested.filter((service) => blocksOf(service).length === 0)).toEqual([]);
  const blocks = tested.map((service) => blocksOf(service).length);
  expect(blocks).toEqual(tested.map((service) => rows.filter((row) => row.service === service).length));
});

describe.each(rows)("$service, as its section sets it up ($path)", (row) => {
  beforeEach(async () => {
    double = await startAt(row.double);
    script(double, row.path);
  });
  afterEach(async () => {
    vi.unstubAllGlobals();
    await double.stop();
  });

  test("answers at the address that the service has", async () => {
    const { text } = await turn(await providerOf(row), "hello");
    expect(text).toBe("Hello there.");
    expect(double.requests.at(-1)?.path).toBe(row.path);
  });

  test("says that a model declined to answer, as each protocol tells it", async () => {
    // Ollama's protocol has no such end.
    if (row.double === "ollama") return;
    double.failNext({ type: "decline", said: "Here is how " });
    expect(failureIn(await collect(await providerOf(row), asking("hello"))).code).toBe("provider.refused");
  });

  test("plays a request with two tool steps, and gets its reasoning back in the meantime", async () => {
    const { text, steps } = await turn(await providerOf(row), "What is the weather?");
    expect({ text, steps }).toEqual({ text: "It rains in both.", steps: 2 });
    if (row.goesBack !== undefined) expect(bodyNow()).toContain(`"${row.goesBack}":`);
  });

  test("sees a picture of a person and of a tool, or is told that there is one", async () => {
    const provider = await providerOf(row);
    const said = asking("hello", {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "hello" },
            { type: "image", ...picture },
          ],
        },
      ],
    });
    expect(textIn(await collect(provider, said))).toBe("Hello there.");
    expect(bodyNow().includes(picture.base64)).toBe(row.seesPictures);
    const called = await collect(provider, asking("What is the weather?"));
    const messages = answered(called).map((message) =>
      message.role === "tool" ? { ...message, images: [picture] } : message,
    );
    const after = await collect(provider, {
      ...asking("What is the weather?"),
      messages: [...asking("What is the weather?").messages, ...messages],
    });
    expect(after.at(-1)).toMatchObject({ type: "end" });
    expect(bodyNow().includes(picture.base64)).toBe(row.seesPictures);
  });

  test.runIf(row.wrongKey !== undefined)("says that its key is wrong, and where the key is set", async () => {
    double.failNext(answerOf(row.wrongKey ?? expect.fail()));
    const { code, message } = failureIn(await collect(await providerOf(row), asking("hello")));
    expect(code).toMatch(/^provider\.(?:wrong-key|forbidden)$/);
    expect(message).toContain("_API_KEY");
  });

  test.runIf(row.tooMany !== undefined)("rests when there are too many requests", async () => {
    double.failNext(answerOf(row.tooMany ?? expect.fail()));
    const failure = failureIn(await collect(await providerOf(row), asking("hello")));
    expect(failure).toMatchObject({ code: "provider.rate-limited", isRetryable: true });
  });
});
