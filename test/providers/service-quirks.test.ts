/** What services want otherwise than OpenAI, known by their address or learned from a refusal. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { providerSettings } from "../../src/config/derive.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createProviders } from "../../src/providers/select.ts";
import type { ModelDouble } from "../doubles/model.ts";
import { groqErrors } from "../doubles/model-rules/groq.ts";
import { deepSeekErrors } from "../doubles/model-rules/hosted.ts";
import { llamaCppErrors, lmStudioErrors } from "../doubles/model-rules/local-servers.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, collect, failureIn, textIn } from "./apis.ts";
import { answerOf, providerOf, script, settingsWith, startAt, turn } from "./documented-services.ts";

let double: ModelDouble;
const chat = "/v1/chat/completions";
const bodyNow = () => JSON.stringify(double.requests.at(-1)?.body);

/** The settings of a section with another model, or at another address. */
async function providerAt(row: { service: string; double: ModelService }, change: [RegExp, string][] = []) {
  double = await startAt(row.double);
  script(double, chat);
  return await providerOf(row, (text) =>
    change.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text),
  );
}

describe("a service that wants something else than OpenAI", () => {
  afterEach(async () => {
    vi.unstubAllGlobals();
    await double.stop();
  });

  /** As after a model that failed in the middle of a turn. */
  const id = "toolu_01A09q90qw90lq917835lq9";
  const begun = asking("What is the weather?", {
    messages: [
      { role: "user", content: [{ type: "text", text: "What is the weather?" }] },
      { role: "assistant", text: "", toolCalls: [{ id, name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: id, name: "look_up", text: "Rain.", isError: false },
    ],
  });
  const elsewhere: [RegExp, string][] = [[/OPENAI_BASE_URL=.*/, "OPENAI_BASE_URL=https://gateway.example/v1"]];

  test.each([
    { service: "Mistral", double: "mistral" as const },
    { service: "DeepSeek", double: "deepSeek" as const },
  ])("goes on with a turn that another model began: $service", async (row) => {
    const provider = await providerAt(row);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
  });

  test("is understood behind a gateway, too, and refuses once only", async () => {
    const provider = await providerAt({ service: "Mistral", double: "mistral" }, elsewhere);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end" });
    const before = double.requests.length;
    expect(before).toBeGreaterThan(1);
    expect((await collect(provider, begun)).at(-1)).toMatchObject({ type: "end" });
    expect(double.requests.length).toBe(before + 1);
  });

  test("that does not know reasoning in messages gets none from then on", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [[/gpt-oss-120b/, "kimi-k3"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(bodyNow()).not.toContain('"reasoning');
  });

  test("that counts the longest answer against a small plan gets a shorter one", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [[/120b/, "120b-free-plan"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(Number(double.requests.at(-1)?.body.max_tokens)).toBeGreaterThan(1_000);
  });

  test("that has a context too small for the longest answer gets a shorter one", async () => {
    const provider = await providerAt({ service: "vLLM", double: "vllm" }, [[/your-model/, "qwen3-12k"]]);
    expect((await turn(provider, "What is the weather?")).text).toBe("It rains in both.");
    expect(double.requests.at(-1)?.body.max_tokens).toBe(8_000);
  });

  test("that names a model's highest limit is asked for that from then on", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" }, [
      [/openai\/gpt-oss-120b/, "llama-3.1-8b-instant"],
    ]);
    await turn(provider, "hello");
    await turn(provider, "hello");
    expect(double.requests.map(({ body }) => body.max_tokens)).toEqual([16_000, 8_000, 8_000]);
  });

  /** What is needed to know first, then what the person says, a picture, and what they said while a tool ran. */
  const inRow = asking("", {
    messages: [
      { role: "user", content: [{ type: "text", text: "It is Monday." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "image", mimeType: "image/png", base64: "aGVsbG8=" },
        ],
      },
      { role: "assistant", text: "", toolCalls: [{ id: "call_1", name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: "call_1", name: "look_up", text: "Rain.", isError: false },
      { role: "user", content: [{ type: "text", text: "hello again" }] },
      { role: "user", content: [{ type: "text", text: "hello?" }] },
    ],
  });
  const localServers = [
    { service: "vLLM", double: "vllm" as const },
    { service: "llama.cpp", double: "llamaCpp" as const },
    { service: "LM Studio", double: "lmStudio" as const },
  ];

  test.each(localServers)(
    "whose template wants roles that alternate gets messages of one person joined, and refuses once only: $service",
    async (row) => {
      const provider = await providerAt(row, [[/your-model|qwen\S*|gpt-oss\S*/, "gemma-3-27b-it"]]);
      expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
      expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
      expect(double.requests).toHaveLength(3);
      const sent = [double.requests.at(-1)?.body.messages].flat() as { role: string; content: unknown }[];
      expect(sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
      expect(sent[1]?.content).toMatchObject([
        { type: "text", text: "It is Monday.\n\nhello" },
        { type: "image_url", image_url: { url: "data:image/png;base64,aGVsbG8=" } },
      ]);
      expect(sent.at(-1)?.content).toBe("hello again\n\nhello?");
    },
  );

  test("that takes messages of one person in a row gets them as they are", async () => {
    const provider = await providerAt({ service: "llama.cpp", double: "llamaCpp" });
    await collect(provider, inRow);
    const roles = [double.requests.at(-1)?.body.messages].flat().map((message) => Object(message).role);
    expect(roles).toEqual(["system", "user", "user", "assistant", "tool", "user", "user"]);
  });

  test.each([
    [400, "After the (optional) system message(s), user and assistant roles should be alternating."],
    [
      400,
      "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
    ],
    [400, 'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row'],
    [400, "Unexpected role 'user' after role 'user'"],
    [400, "Please ensure that multiturn requests alternate between user and model."],
    [422, "Expected alternating user/assistant roles"],
    [422, "Messages can't have two consecutive messages of the same role."],
    [
      400,
      "An error occurred (ValidationException) when calling the Converse operation: A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
    ],
    [500, "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/..."],
  ])("that says in other words that roles must alternate is understood: %s %s", async (status, message) => {
    const provider = await providerAt({ service: "vLLM", double: "any" });
    double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message, code: status } }) });
    expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
    expect(double.requests).toHaveLength(2);
    expect(bodyNow()).toContain("It is Monday.\\n\\nhello");
  });

  test("whose API is Responses gets messages of one person joined, too", async () => {
    const provider = await providerAt({ service: "xAI", double: "any" });
    const message = "Conversation roles must alternate user/assistant/user/assistant/...";
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    expect((await collect(provider, inRow)).at(-1)).toMatchObject({ type: "end" });
    expect(double.requests).toHaveLength(2);
    expect(double.requests.at(-1)?.path).toBe("/v1/responses");
    expect(bodyNow()).toContain("It is Monday.\\n\\nhello");
  });

  test("is not asked again when there is nothing to join", async () => {
    const provider = await providerAt({ service: "vLLM", double: "any" });
    const message = "Conversation roles must alternate user/assistant/user/assistant/...";
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    expect(failureIn(await collect(provider, asking("hello"))).code).toBe("provider.bad-request");
    expect(double.requests).toHaveLength(1);
  });

  test("that refuses a prompt as too long says so", async () => {
    const provider = await providerAt({ service: "llama.cpp", double: "llamaCpp" }, [[/your-model/, "qwen3-1k"]]);
    const long = asking(`hello ${"and so on ".repeat(2_000)}`, { maxOutputTokens: 16_000 });
    expect(failureIn(await collect(provider, long)).code).toBe("provider.too-long");
    expect(double.requests).toHaveLength(1);
  });

  test.each([
    { service: "vLLM", double: "vllm" as const, model: "qwen3-without-tools", says: "--enable-auto-tool-choice" },
    { service: "llama.cpp", double: "llamaCpp" as const, model: "qwen3-without-jinja", says: "--jinja" },
  ])("that was started without tools says how to start it: $service", async ({ model, says, ...row }) => {
    const provider = await providerAt(row, [[/your-model/, model]]);
    const failure = failureIn(await collect(provider, asking("hello")));
    expect(failure).toMatchObject({ code: "provider.tools-off", isRetryable: false });
    expect(failure.message).toContain(says);
  });

  test.each([
    ["LM Studio", lmStudioErrors.nothingLoaded, "provider.unknown-model", "Please load a model"],
    ["llama.cpp", llamaCppErrors.loading, "provider.loading", "Loading model"],
    ["DeepSeek", deepSeekErrors.noBalance, "provider.no-credit", "no credit"],
    ["Groq", groqErrors.badCall, "provider.bad-call", "another model"],
  ])("says what is wrong in words that help: %s", async (service, refusal, code, words) => {
    const provider = await providerAt({ service, double: "any" });
    double.failNext(answerOf(refusal));
    const failure = failureIn(await collect(provider, asking("hello")));
    expect(failure).toMatchObject({ code });
    expect(failure.message).toContain(words);
  });

  test("is asked again when it could not read the model's call", async () => {
    const provider = await providerAt({ service: "Groq", double: "groq" });
    const cascade = createCascade({ providers: [provider], events: createEvents(), pauseMs: 1 });
    double.failNext(answerOf(groqErrors.badCall));
    expect(textIn(await collect(cascade, asking("hello")))).toBe("Hello there.");
  });

  test("gets a token that was renewed while the process runs", async () => {
    double = await startAt("vertex");
    script(double, chat);
    let token = "first-token";
    const baseUrl = "https://aiplatform.googleapis.com/v1/projects/your-project/locations/global/endpoints/openapi";
    const settings = {
      ...providerSettings(settingsWith({ OPENAI_BASE_URL: baseUrl, REMORA_MODEL: "openai/google/gemini-3.6-flash" })),
      keyOf: () => token,
    };
    const { providers } = await createProviders(settings, AbortSignal.timeout(60_000));
    const provider = providers[0] ?? expect.fail();
    await turn(provider, "hello");
    token = "second-token";
    await turn(provider, "hello");
    const sent = double.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer first-token", "Bearer second-token"]);
  });
});
