/** OpenAI's service and those that speak its protocols: by which API a model is asked, and with which fields. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelMessage, ModelRequest } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import { picture } from "../conformance/provider.ts";
import type { Fault } from "../doubles/model.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, collect, failureIn, lookUp, patient, textIn } from "./apis.ts";
import { chunk, createOpenAiWorld, type OpenAiWorld, openAi, turn } from "./openai-world.ts";

let world: OpenAiWorld;
afterEach(() => world.stop());

const azure = "https://mine.openai.azure.com/openai/v1";

async function start(service: ModelService): Promise<void> {
  world = await createOpenAiWorld(service);
}

describe("the API for a model", () => {
  test.each([
    ["https://api.openai.com/v1", "/v1/responses"],
    ["https://eu.api.openai.com/v1", "/v1/responses"],
    ["https://mine.openai.azure.com/openai/v1", "/v1/responses"],
    ["https://mine.services.ai.azure.com/openai/v1", "/v1/responses"],
    ["https://mine.cognitiveservices.azure.com/openai/v1", "/v1/responses"],
    ["https://api.x.ai/v1", "/v1/responses"],
    ["https://api.openai.com.example.org/v1", "/v1/chat/completions"],
    ["https://openrouter.ai/api/v1", "/v1/chat/completions"],
  ])("is chosen by the address: %s is asked at %s", async (address, path) => {
    await start("any");
    expect((await turn(world.at(address, "some-model"))).at(-1)).toMatchObject({ type: "end" });
    expect(new Set(world.paths())).toEqual(new Set([path]));
  });

  test("is OpenAI's Responses API for its default model, whose tools then work", async () => {
    await start("openai");
    const provider = world.at(openAi, "gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(world.lastBody()).toMatchObject({ store: false, reasoning: { effort: "low" } });
    expect(provider.advice?.()).toEqual([]);
  });

  test("is the other one once a server has refused the first, from then on at once, and the owner is told", async () => {
    await start("openai");
    const provider = world.here("gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(world.paths()).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/responses"]);
    expect(provider.advice?.()).toEqual([
      {
        model: "openai/gpt-6-luna",
        what: "openai/gpt-6-luna refused Chat Completions, so it is asked by the Responses API",
        todo: "Set models.openai.api: responses",
      },
    ]);
  });

  test.each([
    [
      400,
      "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead.",
    ],
    [
      404,
      "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?",
    ],
    [404, "This model is only supported in v1/responses and not in v1/chat/completions."],
    [400, "Unsupported legacy protocol: /v1/chat/completions is not supported. Please use /v1/responses."],
    [400, "The chatCompletion operation does not work with the specified model, m."],
    [400, "litellm.BadRequestError: AzureException - Reasoning models cannot call tools here, use the Responses API"],
    [422, "Tools together with reasoning are unavailable for this model"],
  ])("is tried the other way after %i “%s”", async (status, message) => {
    await start("any");
    world.double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
    expect((await collect(world.here("m"), asking("hello"))).at(-1)).toMatchObject({ type: "end" });
    expect(world.paths()).toEqual(["/v1/chat/completions", "/v1/responses"]);
  });

  test("is tried the other way when a gateway refuses in the stream that it has begun", async () => {
    await start("any");
    const message =
      "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Use /v1/responses.";
    world.answerNext(chunk({ role: "assistant", content: "" }), { error: { code: 400, message } });
    expect(textIn(await collect(world.here("m"), asking("hello")))).not.toBe("");
    expect(world.paths()).toEqual(["/v1/chat/completions", "/v1/responses"]);
  });

  test("that answers and then breaks off is not blamed for the refusal before", async () => {
    await start("any");
    const body = JSON.stringify({ error: { message: "Please use /v1/responses instead." } });
    world.double.failNext(
      { type: "answer", status: 400, body },
      { type: "break", before: (frame) => /_text\.delta/.test(frame) },
    );
    expect(failureIn(await collect(world.here("m"), asking("hello")))).toMatchObject({ code: "provider.cut" });
  });

  test("stays once anything was said, whatever the stream then says", async () => {
    await start("any");
    world.answerNext(chunk({ content: "Half" }), { error: { code: 400, message: "Use /v1/responses." } });
    const events = await collect(world.here("m"), asking("hello"));
    expect(textIn(events)).toBe("Half");
    expect(failureIn(events)).toMatchObject({ code: "provider.bad-request" });
    expect(world.paths()).toEqual(["/v1/chat/completions"]);
  });

  test.each([
    ["a call", { tool_calls: [{ index: 0, id: "a", function: { name: "look_up", arguments: "{}" } }] }],
    ["what it thought", { reasoning_content: "Hm." }],
  ])("stays once a model has given %s, whatever the stream then says", async (_what, delta) => {
    await start("any");
    world.answerNext(chunk({ role: "assistant", content: "" }), chunk(delta), {
      error: { code: 400, message: "Unsupported parameter: store" },
    });
    expect(failureIn(await collect(world.here("m"), asking("hello"))).code).toBe("provider.bad-request");
    expect(world.double.requests).toHaveLength(1);
  });

  test.each([
    [404, { error: { code: "404", message: "Resource not found" } }],
    [405, { detail: "Method Not Allowed" }],
    [404, {}],
    [400, { error: { message: "The responses operation does not work with the specified model, m." } }],
    [400, { error: { message: "The requested operation is unsupported." } }],
  ])("is Chat Completions where a deployment has no other: %i %j", async (status, body) => {
    await start("any");
    world.double.failNext({ type: "answer", status, body: JSON.stringify(body) });
    const provider = world.at(azure, "m");
    expect((await turn(provider)).at(-1)).toMatchObject({ type: "end" });
    expect(world.paths()).toEqual(["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]);
    expect(provider.advice?.()).toMatchObject([{ todo: "Set models.openai.api: chat" }]);
  });

  test.each([
    [404, "The API deployment for this resource does not exist."],
    [404, "The model `m` does not exist or you do not have access to it."],
    [400, "Something is wrong with this request."],
    [400, "max_tokens is too large: 16000. This model supports at most 4096 completion tokens."],
  ])("stays after a refusal of something else, which is asked once: %i “%s”", async (status, message) => {
    await start("any");
    for (const address of [azure, "https://elsewhere.example/v1"]) {
      world.double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
      const count = world.double.requests.length;
      expect(failureIn(await collect(world.at(address, "m"), asking("hello"))).message).toContain(message.slice(0, 30));
      expect(world.double.requests).toHaveLength(count + 1);
    }
  });

  test("that the settings name stays, and the error says which setting to change", async () => {
    await start("openai");
    const error = failureIn(await collect(world.here("gpt-6-luna", { api: "chat" }), asking("hello")));
    expect(error).toMatchObject({ code: "provider.wrong-api", isRetryable: false });
    expect(error.message).toMatch(/Function tools with reasoning_effort.*set models\.openai\.api to auto/);
    expect(world.double.requests).toHaveLength(1);
  });

  test("is Chat Completions without reasoning at a gateway that has no other, and the owner is told", async () => {
    await start("gateway");
    const provider = world.here("gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(world.lastBody()).toMatchObject({ reasoning_effort: "none" });
    expect(provider.advice?.()).toMatchObject([{ todo: expect.stringContaining("models.openai.effort: none") }]);
  });

  test("without any that works gives the service's first reason, and does not ask without end", async () => {
    await start("gateway");
    const error = failureIn(await collect(world.here("gpt-6-astra"), asking("hello")));
    expect(error).toMatchObject({ code: "provider.bad-request" });
    expect(error.message).toContain("gpt-6-astra");
    expect(world.double.requests.length).toBeLessThanOrEqual(4);
  });
});

describe("a field that a service refuses", () => {
  test("is the limit's name for an Azure deployment, whatever the deployment's name", async () => {
    await start("azure");
    for (const api of ["auto", "chat"] as const)
      expect(textIn(await turn(world.at(azure, "prod", { api })))).toBe("It rains.");
    expect(textIn(await turn(world.here("prod", { baseUrl: `${world.double.url}/openai/v1` })))).toBe("It rains.");
    expect(world.paths().filter((path) => path === "/openai/v1/chat/completions")).toHaveLength(2 + 3);
  });

  test.each([
    "Unrecognized request argument supplied: max_completion_tokens",
    "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]",
  ])("is the limit's new name at an old server, which says “%s”", async (message) => {
    await start("any");
    world.double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    const provider = world.here("o4-mini", { api: "chat" });
    await turn(provider);
    expect(
      world.double.requests.map(({ body }) => Object.keys(body).filter((name) => name.startsWith("max_"))),
    ).toEqual([["max_completion_tokens"], ["max_tokens"], ["max_tokens"]]);
  });

  test("is the effort that a model lacks: it is left out once, remembered, and told to the owner", async () => {
    await start("openai");
    const provider = world.at(openAi, "gpt-6-astra", { effort: "none" });
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(world.double.requests.map(({ body }) => body.reasoning)).toEqual([{ effort: "none" }, undefined, undefined]);
    expect(provider.advice?.()).toMatchObject([
      { what: "openai/gpt-6-astra refused the effort none, so its own applies" },
    ]);
  });

  test("is the effort of a Grok model without levels, whose error has another form", async () => {
    await start("xai");
    expect(textIn(await turn(world.at("https://api.x.ai/v1", "grok-build-0.1", { effort: "high" })))).toBe("It rains.");
  });

  test("is the place of the system text, which then is a message", async () => {
    await start("any");
    const error = "Argument not supported: instructions";
    world.double.failNext({ type: "answer", status: 400, body: JSON.stringify({ code: "invalid-argument", error }) });
    await turn(world.at(azure, "prod"));
    expect(world.double.requests.map(({ body }) => body.instructions)).toEqual(["You help.", undefined, undefined]);
    expect((world.lastBody().input as unknown[])[0]).toEqual({ role: "system", content: "You help." });
    await turn(world.at("https://api.x.ai/v1", "grok-4.3"));
    expect(world.lastBody()).not.toHaveProperty("instructions");
  });

  test("is an effort that only the parameter's name tells", async () => {
    await start("any");
    const error = {
      message: "Invalid value: 'none'. Supported values are: 'low'. Not supported.",
      param: "reasoning_effort",
    };
    world.double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    await collect(world.here("m", { effort: "none" }), asking("hello"));
    expect(world.double.requests.map(({ body }) => body.reasoning_effort)).toEqual(["none", undefined]);
  });

  test.each([
    { message: "Encrypted content is not supported with this model.", param: "include" },
    { message: "reasoning.encrypted_content not supported" },
  ])("is encrypted reasoning, for a deployment whose name does not tell its model: %j", async (error) => {
    await start("any");
    world.double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    await turn(world.at(azure, "prod", { effort: "high" }));
    expect(world.double.requests.map(({ body }) => body.include !== undefined)).toEqual([true, false, false]);
    expect(world.lastBody()).toMatchObject({ reasoning: { effort: "high" } });
  });
});

test.each([
  [422, { detail: [{ type: "string_type", loc: ["body", "model"], msg: "Input should be a valid string" }] }],
  [422, { object: "error", message: { detail: [{ loc: ["body"], msg: "Input should be a valid string" }] } }],
  [400, { error: { message: "Provider returned error", metadata: { raw: "Input should be a valid string" } } }],
  [400, { error: { message: "Bad", metadata: { raw: '{"error":{"message":"Input should be a valid string"}}' } } }],
  [400, [{ error: { message: "Input should be a valid string" } }]],
])("the error %i %j gives the service's own words", async (status, body) => {
  await start("any");
  world.double.failNext({ type: "answer", status, body: JSON.stringify(body) });
  const { message } = failureIn(await collect(world.here("m"), asking("hello")));
  expect(message).toContain("Input should be a valid string");
});

describe("what is learned from a refusal", () => {
  const refusal = (message: string) =>
    ({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) }) as const;

  test("counts for an hour, because it may have been a moment's", async () => {
    await start("any");
    let now = 0;
    const baseUrl = `${world.double.url}/v1`;
    const provider = createOpenAiProvider({ apiKey: "k", baseUrl, model: "m", timeouts: patient }, () => now);
    world.double.failNext(refusal("max_tokens is invalid: at most 1024 in this moment of high load"));
    for (const at of [0, 1_800_000, 3_601_000]) {
      now = at;
      await collect(provider, asking("hello", { maxOutputTokens: 16_000 }));
    }
    expect(world.double.requests.map(({ body }) => body.max_tokens)).toEqual([16_000, 1_024, 1_024, 16_000]);
  });

  test.each([
    "Unsupported value: the tool 'web' does not support: 'explain store and stream_options'",
    "tools.0.function.parameters.properties.stream_options: unsupported schema",
  ])("is nothing from what it quotes: “%s”", async (message) => {
    await start("any");
    world.double.failNext(refusal(message));
    await collect(world.here("m"), asking("hello"));
    for (const { body } of world.double.requests) expect(body).toHaveProperty("stream_options");
  });

  test("is also what a gateway passes on as another service's words", async () => {
    await start("any");
    world.double.failNext(refusal('OpenAIException - {"error": {"message": "Unsupported parameter: stream_options"}}'));
    expect((await collect(world.here("m"), asking("hello"))).at(-1)?.type).toBe("end");
  });

  test("is kept for the next try of the same message, also if another failure came in between", async () => {
    await start("any");
    world.double.failNext(refusal("Unsupported parameter: stream_options"), { type: "reset" });
    const cascade = createCascade({ providers: [world.here("m")], events: createEvents(), pauseMs: 1 });
    expect(textIn(await collect(cascade, asking("hello")))).not.toBe("");
    expect(world.double.requests.map(({ body }) => "stream_options" in body)).toEqual([true, false, false]);
  });
});

test("a service that refuses something else each time gets at most twelve requests for a step, with pictures and retries", async () => {
  await start("any");
  const fields = ["store", "stream_options", "prompt_cache_key", "include", "instructions", "safety_identifier"];
  const refusals = Array.from({ length: 48 }, (_, index): Fault => {
    const error = { message: `Unsupported parameter: ${fields[index % fields.length]}` };
    return index % 12 === 11 ? { type: "reset" } : { type: "answer", status: 400, body: JSON.stringify({ error }) };
  });
  world.double.failNext(...refusals);
  const image = { type: "image" as const, mimeType: "image/png", base64: picture };
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: "hello" }, image] }];
  const cascade = createCascade({ providers: [world.here("m")], events: createEvents(), pauseMs: 1 });
  expect((await collect(cascade, asking("hello", { messages }))).at(-1)?.type).toBe("error");
  expect(world.double.requests.length).toBeLessThanOrEqual(12);
});

describe("effort", () => {
  test.each(["gpt-4.1", "gpt-5.4-pro", "gpt-5.2-chat"])(
    "is not sent to %s, which lacks the usual level",
    async (model) => {
      await start("any");
      await collect(world.at(openAi, model), asking("hello"));
      expect(world.lastBody()).not.toHaveProperty("reasoning");
    },
  );

  test("is not sent elsewhere unless it is set, and then in the API's own form", async () => {
    await start("any");
    await collect(world.here("gpt-6-luna"), asking("hello"));
    expect(world.lastBody()).not.toHaveProperty("reasoning_effort");
    await collect(world.here("gpt-6-luna", { effort: "high" }), asking("hello"));
    expect(world.lastBody()).toMatchObject({ reasoning_effort: "high" });
    await collect(world.at(azure, "prod", { effort: "medium" }), asking("hello"));
    expect(world.lastBody()).toMatchObject({ reasoning: { effort: "medium" } });
  });
});

describe("OpenAI's prompt cache", () => {
  const system = [
    { text: "You help.", isCacheable: true },
    { text: "Always be brief.", isCacheable: true },
    { text: "Today is Friday.", isCacheable: false },
  ];
  const mark = { prompt_cache_breakpoint: { mode: "explicit" } };

  test("gets a breakpoint after the steady part of the system text, and a key that names nobody", async () => {
    await start("openai");
    await collect(world.at(openAi, "gpt-6-luna"), asking("hello", { system }));
    const developer = {
      role: "developer",
      content: [
        { type: "input_text", text: "You help.\n\nAlways be brief.", ...mark },
        { type: "input_text", text: "Today is Friday." },
      ],
    };
    expect((world.lastBody().input as unknown[])[0]).toEqual(developer);
    expect(world.lastBody()).not.toHaveProperty("instructions");
    expect(world.lastBody().prompt_cache_key).toMatch(/^remora-[0-9a-f]{32}$/);
    await collect(world.at(openAi, "gpt-5.6-luna", { api: "chat" }), asking("hello", { system, tools: [] }));
    expect((world.lastBody().messages as unknown[])[0]).toEqual({
      role: "system",
      content: [
        { type: "text", text: "You help.\n\nAlways be brief.", ...mark },
        { type: "text", text: "Today is Friday." },
      ],
    });
    expect(world.lastBody()).toMatchObject({ store: false, prompt_cache_key: expect.stringMatching(/^remora-/) });
  });

  test("has one key for all conversations with the same beginning, and another for other tools", async () => {
    await start("any");
    const provider = world.at(openAi, "gpt-6-luna");
    const keys: unknown[] = [];
    for (const more of [
      {},
      { system: [...system.slice(0, 2), { text: "Another day.", isCacheable: false }] },
      { tools: [] },
    ]) {
      await collect(provider, asking("hello", { system, ...more }));
      keys.push(world.lastBody().prompt_cache_key);
    }
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).not.toBe(keys[2]);
  });

  test.each([
    [openAi, "gpt-5.4-mini"],
    [azure, "gpt-6-luna"],
    ["https://openrouter.ai/api/v1", "openai/gpt-6-luna"],
  ])("of %s with %s gets no breakpoint that it would not know, and without a key no field", async (address, model) => {
    await start("any");
    for (const api of ["responses", "chat"] as const) {
      await collect(world.at(address, model, { api }), asking("hello", { system }));
      expect(JSON.stringify(world.lastBody())).not.toMatch(/prompt_cache|cache_control|session_id/);
      if (address !== openAi && api === "chat") expect(world.lastBody()).not.toHaveProperty("store");
    }
  });

  test.each([
    [openAi, "gpt-5.4-mini", "prompt_cache_key", ["chat", "responses"]],
    [azure, "prod", "prompt_cache_key", ["chat", "responses"]],
    ["https://api.mistral.ai/v1", "mistral-large", "prompt_cache_key", ["chat", "responses"]],
    ["https://api.x.ai/v1", "grok-4.5", "prompt_cache_key", ["responses"]],
    ["https://openrouter.ai/api/v1", "deepseek/deepseek-v4", "session_id", ["chat", "responses"]],
    ["https://api.groq.com/openai/v1", "m", "", []],
    ["https://api.deepseek.com", "m", "", []],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "m", "", []],
    ["https://gateway.example/v1", "m", "", []],
  ])("of %s with %s gets the conversation's key as “%s”, where %s knows it", async (address, model, field, apis) => {
    await start("any");
    for (const api of ["chat", "responses"] as const) {
      await collect(world.at(address, model, { api }), asking("hello", { cache: { key: "digest", pausesMs: [] } }));
      const sent = Object.entries(world.lastBody()).filter(([name]) => /cache|session/.test(name));
      expect(sent).toEqual((apis as string[]).includes(api) ? [[field, "digest"]] : []);
    }
  });

  test("gets a key of at most 64 characters", async () => {
    await start("openai");
    await collect(world.at(openAi, "gpt-6-luna"), asking("hello", { cache: { key: "k".repeat(300), pausesMs: [] } }));
    expect(world.lastBody().prompt_cache_key).toMatch(/^[0-9a-f]{64}$/);
  });

  const step: Partial<ModelRequest> = {
    system,
    messages: [
      { role: "user", content: [{ type: "text", text: "It is Monday." }] },
      { role: "user", content: [{ type: "text", text: "hello" }] },
      { role: "assistant", text: "I look.", toolCalls: [{ id: "call_a", name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: "call_a", name: "look_up", text: "Rain.", isError: false },
    ],
    tools: [lookUp],
  };
  const marksOf = (list: unknown) =>
    (list as { role?: string; type?: string; content?: unknown; output?: unknown }[]).flatMap((message) =>
      [message.content, message.output]
        .flat()
        .flatMap((part) =>
          /prompt_cache_breakpoint|cache_control/.test(JSON.stringify(part) ?? "")
            ? [[message.role ?? message.type, Object(part).text]]
            : [],
        ),
    );
  const steady = "You help.\n\nAlways be brief.";

  test("gets a breakpoint where the last request ended, because it is not found otherwise", async () => {
    await start("openai");
    await collect(world.at(openAi, "gpt-6-luna"), asking("hello", step));
    expect(marksOf(world.lastBody().input)).toEqual([
      ["developer", steady],
      ["user", "hello"],
    ]);
    const [, result] = step.messages?.slice(-2) ?? [];
    const next = [...(step.messages ?? []), { role: "assistant" as const, text: "Rain.", toolCalls: [] }];
    const again: ModelMessage = { role: "user", content: [{ type: "text", text: "hello again" }] };
    await collect(world.at(openAi, "gpt-6-luna"), asking("hello", { ...step, messages: [...next, again] }));
    expect(marksOf(world.lastBody().input)).toEqual([
      ["developer", steady],
      ["function_call_output", Object(result).text],
    ]);
    await start("any");
    await collect(world.at(openAi, "gpt-6-luna", { api: "chat" }), asking("hello", step));
    expect(marksOf(world.lastBody().messages)).toEqual([
      ["system", steady],
      ["user", "hello"],
    ]);
  });

  test("of Claude behind OpenRouter gets breakpoints at both ends, which it would not place by itself", async () => {
    await start("any");
    await collect(world.at("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-5.5"), asking("hello", step));
    expect(marksOf(world.lastBody().messages)).toEqual([
      ["system", steady],
      ["user", "hello"],
      ["tool", "Rain."],
    ]);
  });

  test.each(["prompt_cache_breakpoint", "prompt_cache_key"])(
    "that a service refuses to be told of by %s is asked once more without, and from then on",
    async (field) => {
      await start("any");
      const provider = world.at(openAi, "gpt-6-luna");
      const error = {
        message: `Unknown parameter: 'input[1].content[0].${field}'.`,
        param: `input[1].content[0].${field}`,
      };
      const top = { message: `Unknown parameter: '${field}'.`, param: field };
      const body = JSON.stringify({ error: field === "prompt_cache_key" ? top : error });
      world.double.failNext({ type: "answer", status: 400, body });
      for (const _message of [1, 2]) expect((await collect(provider, asking("hello", step))).at(-1)?.type).toBe("end");
      const has = world.double.requests.map(({ body: sent }) => JSON.stringify(sent).includes(`"${field}"`));
      expect(has).toEqual([true, false, false]);
    },
  );
});

describe("silence before the first word", () => {
  test.each([
    ["Chat Completions, after the role", "chat", (_frame: string, index: number) => index === 1, undefined],
    [
      "the Responses API, after the response was created",
      "responses",
      (_frame: string, index: number) => index === 2,
      undefined,
    ],
    ["OpenRouter, with comments", "chat", (_frame: string, index: number) => index === 0, ": OPENROUTER PROCESSING"],
  ] as const)("is borne while a model may think: %s", async (_what, api, before, saying) => {
    await start("any");
    world.double.failNext({ type: "delay", before, ms: 2_500, ...(saying === undefined ? {} : { saying }) });
    const provider = world.here("thinker", { api, timeouts: { ...patient, firstTokenMs: 1_500, idleMs: 10_000 } });
    expect(textIn(await collect(provider, asking("hello")))).not.toBe("");
  });

  test.each([
    ["chat", `data: ${JSON.stringify(chunk({ role: "assistant", content: "" }))}`],
    ["chat", ": keep-alive"],
    ["responses", 'event: response.in_progress\ndata: {"type":"response.in_progress","response":{}}'],
    ["responses", 'event: keepalive\ndata: {"type":"keepalive"}'],
  ] as const)("ends if it lasts, however often the service says that it is there (%s: %s)", async (api, frame) => {
    await start("any");
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write(`${frame}\n\n`), 20);
      response.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const provider = world.here("thinker", { api, baseUrl, timeouts: { ...patient, firstTokenMs: 500, idleMs: 400 } });
    const error = failureIn(await collect(provider, asking("hello")));
    expect(error.code).toMatch(/^provider\.(?:idle|first-token)-timeout$/);
    server.close();
  });
});

test("a refused field is left out although the Responses API had said that the answer has begun", async () => {
  await start("any");
  const event = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
  const begun = ["response.created", "response.in_progress"].map((type) => event({ type, response: {} }));
  const error = event({ type: "error", code: 400, message: "Unsupported parameter: store", param: null });
  const headers = { "content-type": "text/event-stream" };
  world.double.failNext({ type: "answer", status: 200, headers, body: [...begun, error].join("") });
  expect(textIn(await collect(world.here("thinker", { api: "responses" }), asking("hello")))).not.toBe("");
  expect(world.double.requests.map(({ body }) => "store" in body)).toEqual([true, false]);
});

test("requests that are refused late, one after the other, share one time limit", async () => {
  await start("any");
  const fields = ["stream_options", "store", "prompt_cache_key", "include", "instructions", "safety_identifier"];
  let requests = 0;
  const server = createServer((_request, response) => {
    const refusal = { error: { code: 400, message: `Unsupported parameter: ${fields[requests++]}` } };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(chunk({ role: "assistant", content: "" }))}\n\n`);
    setTimeout(() => response.end(`data: ${JSON.stringify(refusal)}\n\n`), 300);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const timeouts = { ...patient, firstTokenMs: 5_000, idleMs: 100 };
  const events = await collect(world.here("thinker", { api: "chat", baseUrl, timeouts }), asking("hello"));
  expect(failureIn(events).code).toBe("provider.idle-timeout");
  expect(requests).toBe(2);
  server.close();
});

test("a tool without parameters, and 100 tools, are within what OpenAI takes", async () => {
  await start("openai");
  const tools = Array.from({ length: 100 }, (_, index) => ({ ...lookUp, name: `tool_${index}` }));
  const none = { ...lookUp, parameters: { type: "object" as const, properties: {} } };
  expect(
    (await collect(world.at(openAi, "gpt-6-luna"), asking("hello", { tools: [...tools, none] }))).at(-1),
  ).toMatchObject({
    type: "end",
  });
});
