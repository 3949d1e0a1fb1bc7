/** OpenAI's service and those that speak its protocols: what each refuses, and what the provider makes of it. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../../src/ports/provider.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import type { OpenAiOptions } from "../../src/providers/openai-client.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import type { ModelService } from "../doubles/model-rules/services.ts";
import { asking, callsIn, collect, failureIn, lookUp, patient, scripted, textIn } from "./apis.ts";

let double: ModelDouble;
afterEach(async () => {
  vi.unstubAllGlobals();
  await double.stop();
});

async function start(service: ModelService): Promise<void> {
  double = await startModelDouble({ service });
  double.mock.on({ hasToolResult: true }, { content: "It rains." });
  scripted(double);
}

/** The provider at the double's address. */
const here = (model: string, more: Partial<OpenAiOptions> = {}) =>
  createOpenAiProvider({ apiKey: "k", baseUrl: `${double.url}/v1`, model, timeouts: patient, ...more });

/** The provider at a service's own address, which leads to the double. */
function at(baseUrl: string, model: string, more: Partial<OpenAiOptions> = {}): Provider {
  const { fetch } = globalThis;
  const redirect: typeof fetch = (input, init) =>
    String(input).startsWith(baseUrl)
      ? fetch(String(input).replace(baseUrl, `${double.url}/v1`), init)
      : fetch(input, init);
  vi.stubGlobal("fetch", redirect);
  return createOpenAiProvider({ apiKey: "k", baseUrl, model, timeouts: patient, ...more });
}

const openAi = "https://api.openai.com/v1";
const azure = "https://mine.openai.azure.com/openai/v1";
const paths = () => double.requests.map(({ path }) => path);
const lastBody = () => double.requests.at(-1)?.body ?? {};

/** The answer and the results of its calls, as a turn keeps them: through JSON. */
function answered(events: ModelEvent[]): ModelMessage[] {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`no end: ${JSON.stringify(end)}`);
  const toolCalls = callsIn(events).map(({ id, name, inputJson }) => ({ id, name, inputJson }));
  const carry = end.carry === undefined ? {} : { carry: { model: end.model, data: end.carry } };
  const messages: ModelMessage[] = [
    { role: "assistant", text: textIn(events), toolCalls, ...carry },
    ...toolCalls.map(({ id, name }) => ({ role: "tool" as const, callId: id, name, text: "Rain.", isError: false })),
  ];
  return JSON.parse(JSON.stringify(messages));
}

/** Two steps: the model calls a tool, and gets the result. */
async function turn(provider: Provider, more: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const request = asking("one call", more);
  const first = await collect(provider, request);
  return await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
}

function answerNext(...chunks: unknown[]): void {
  const body = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"].join("");
  double.failNext({ type: "answer", status: 200, headers: { "content-type": "text/event-stream" }, body });
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});

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
    expect((await turn(at(address, "some-model"))).at(-1)).toMatchObject({ type: "end" });
    expect(new Set(paths())).toEqual(new Set([path]));
  });

  test("is OpenAI's Responses API for its default model, whose tools then work", async () => {
    await start("openai");
    const provider = at(openAi, "gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(lastBody()).toMatchObject({ store: false, reasoning: { effort: "low" } });
    expect(provider.advice?.()).toEqual([]);
  });

  test("is the other one once a server has refused the first, from then on at once, and the owner is told", async () => {
    await start("openai");
    const provider = here("gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(paths()).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/responses"]);
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
    double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
    expect((await collect(here("m"), asking("hello"))).at(-1)).toMatchObject({ type: "end" });
    expect(paths()).toEqual(["/v1/chat/completions", "/v1/responses"]);
  });

  test.each([
    [404, { error: { code: "404", message: "Resource not found" } }],
    [405, { detail: "Method Not Allowed" }],
    [404, {}],
    [400, { error: { message: "The responses operation does not work with the specified model, m." } }],
    [400, { error: { message: "The requested operation is unsupported." } }],
  ])("is Chat Completions where a deployment has no other: %i %j", async (status, body) => {
    await start("any");
    double.failNext({ type: "answer", status, body: JSON.stringify(body) });
    const provider = at(azure, "m");
    expect((await turn(provider)).at(-1)).toMatchObject({ type: "end" });
    expect(paths()).toEqual(["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]);
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
      double.failNext({ type: "answer", status, body: JSON.stringify({ error: { message } }) });
      const count = double.requests.length;
      expect(failureIn(await collect(at(address, "m"), asking("hello"))).message).toContain(message.slice(0, 30));
      expect(double.requests).toHaveLength(count + 1);
    }
  });

  test("that the settings name stays, and the error says which setting to change", async () => {
    await start("openai");
    const error = failureIn(await collect(here("gpt-6-luna", { api: "chat" }), asking("hello")));
    expect(error).toMatchObject({ code: "provider.wrong-api", isRetryable: false });
    expect(error.message).toMatch(/Function tools with reasoning_effort.*set models\.openai\.api to auto/);
    expect(double.requests).toHaveLength(1);
  });

  test("is Chat Completions without reasoning at a gateway that has no other, and the owner is told", async () => {
    await start("gateway");
    const provider = here("gpt-6-luna");
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(lastBody()).toMatchObject({ reasoning_effort: "none" });
    expect(provider.advice?.()).toMatchObject([{ todo: expect.stringContaining("models.openai.effort: none") }]);
  });

  test("without any that works gives the service's first reason, and does not ask without end", async () => {
    await start("gateway");
    const error = failureIn(await collect(here("gpt-6-astra"), asking("hello")));
    expect(error).toMatchObject({ code: "provider.bad-request" });
    expect(error.message).toContain("gpt-6-astra");
    expect(double.requests.length).toBeLessThanOrEqual(4);
  });
});

describe("a field that a service refuses", () => {
  test("is the limit's name for an Azure deployment, whatever the deployment's name", async () => {
    await start("azure");
    for (const api of ["auto", "chat"] as const)
      expect(textIn(await turn(at(azure, "prod", { api })))).toBe("It rains.");
    expect(textIn(await turn(here("prod")))).toBe("It rains.");
    expect(paths().filter((path) => path === "/v1/chat/completions")).toHaveLength(2 + 3);
  });

  test.each([
    "Unrecognized request argument supplied: max_completion_tokens",
    "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]",
  ])("is the limit's new name at an old server, which says “%s”", async (message) => {
    await start("any");
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error: { message } }) });
    const provider = here("o4-mini", { api: "chat" });
    await turn(provider);
    expect(double.requests.map(({ body }) => Object.keys(body).filter((name) => name.startsWith("max_")))).toEqual([
      ["max_completion_tokens"],
      ["max_tokens"],
      ["max_tokens"],
    ]);
  });

  test("is the effort that a model lacks: it is left out once, remembered, and told to the owner", async () => {
    await start("openai");
    const provider = at(openAi, "gpt-6-astra", { effort: "none" });
    expect(textIn(await turn(provider))).toBe("It rains.");
    expect(double.requests.map(({ body }) => body.reasoning)).toEqual([{ effort: "none" }, undefined, undefined]);
    expect(provider.advice?.()).toMatchObject([
      { what: "openai/gpt-6-astra refused the effort none, so its own applies" },
    ]);
  });

  test("is the effort of a Grok model without levels, whose error has another form", async () => {
    await start("xai");
    expect(textIn(await turn(at("https://api.x.ai/v1", "grok-build-0.1", { effort: "high" })))).toBe("It rains.");
  });

  test("is an effort that only the parameter's name tells", async () => {
    await start("any");
    const error = {
      message: "Invalid value: 'none'. Supported values are: 'low'. Not supported.",
      param: "reasoning_effort",
    };
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    await collect(here("m", { effort: "none" }), asking("hello"));
    expect(double.requests.map(({ body }) => body.reasoning_effort)).toEqual(["none", undefined]);
  });

  test("is encrypted reasoning, for a deployment whose name does not tell its model", async () => {
    await start("any");
    const error = { message: "Encrypted content is not supported with this model.", param: "include" };
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    await turn(at(azure, "prod"));
    expect(double.requests.map(({ body }) => body.include !== undefined)).toEqual([true, false, false]);
  });
});

describe("effort", () => {
  test.each(["gpt-4.1", "gpt-5.4-pro", "gpt-5.2-chat"])(
    "is not sent to %s, which lacks the usual level",
    async (model) => {
      await start("any");
      await collect(at(openAi, model), asking("hello"));
      expect(lastBody()).not.toHaveProperty("reasoning");
    },
  );

  test("is not sent elsewhere unless it is set, and then in the API's own form", async () => {
    await start("any");
    await collect(here("gpt-6-luna"), asking("hello"));
    expect(lastBody()).not.toHaveProperty("reasoning_effort");
    await collect(here("gpt-6-luna", { effort: "high" }), asking("hello"));
    expect(lastBody()).toMatchObject({ reasoning_effort: "high" });
    await collect(at(azure, "prod", { effort: "medium" }), asking("hello"));
    expect(lastBody()).toMatchObject({ reasoning: { effort: "medium" } });
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
    await collect(at(openAi, "gpt-6-luna"), asking("hello", { system }));
    const developer = {
      role: "developer",
      content: [
        { type: "input_text", text: "You help.\n\nAlways be brief.", ...mark },
        { type: "input_text", text: "Today is Friday." },
      ],
    };
    expect((lastBody().input as unknown[])[0]).toEqual(developer);
    expect(lastBody()).not.toHaveProperty("instructions");
    expect(lastBody().prompt_cache_key).toMatch(/^remora-[0-9a-f]{32}$/);
    await collect(at(openAi, "gpt-5.6-luna", { api: "chat" }), asking("hello", { system, tools: [] }));
    expect((lastBody().messages as unknown[])[0]).toEqual({
      role: "system",
      content: [
        { type: "text", text: "You help.\n\nAlways be brief.", ...mark },
        { type: "text", text: "Today is Friday." },
      ],
    });
    expect(lastBody()).toMatchObject({ store: false, prompt_cache_key: expect.stringMatching(/^remora-/) });
  });

  test("has one key for all conversations with the same beginning, and another for other tools", async () => {
    await start("any");
    const provider = at(openAi, "gpt-6-luna");
    const keys: unknown[] = [];
    for (const more of [
      {},
      { system: [...system.slice(0, 2), { text: "Another day.", isCacheable: false }] },
      { tools: [] },
    ]) {
      await collect(provider, asking("hello", { system, ...more }));
      keys.push(lastBody().prompt_cache_key);
    }
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).not.toBe(keys[2]);
  });

  test.each([
    [openAi, "gpt-5.4-mini"],
    [azure, "gpt-6-luna"],
    ["https://openrouter.ai/api/v1", "openai/gpt-6-luna"],
  ])("of %s with %s gets no field that it would not know", async (address, model) => {
    await start("any");
    for (const api of ["responses", "chat"] as const) {
      await collect(at(address, model, { api }), asking("hello", { system }));
      expect(JSON.stringify(lastBody())).not.toContain("prompt_cache");
      if (address !== openAi && api === "chat") expect(lastBody()).not.toHaveProperty("store");
    }
  });
});

describe("silence before the first word", () => {
  const hasRole = (frame: string) => frame.includes('"role":"assistant"');

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
    double.failNext({ type: "delay", before, ms: 1_200, ...(saying === undefined ? {} : { saying }) });
    const provider = here("thinker", { api, timeouts: { ...patient, firstTokenMs: 500, idleMs: 2_000 } });
    expect(textIn(await collect(provider, asking("hello")))).not.toBe("");
  });

  test.each([
    ["chat", hasRole],
    ["responses", (frame: string) => frame.includes("response.created")],
  ] as const)("ends if it lasts, however often the service says that it is there (%s)", async (api, isFirst) => {
    await start("any");
    let seen = false;
    const before = (frame: string) => {
      const was = seen;
      seen ||= isFirst(frame);
      return was;
    };
    double.failNext({ type: "stall", before });
    const provider = here("thinker", { api, timeouts: { ...patient, firstTokenMs: 300, idleMs: 100 } });
    expect(failureIn(await collect(provider, asking("hello")))).toMatchObject({ code: "provider.idle-timeout" });
  });
});

describe("Gemini at Google's OpenAI address", () => {
  const signature = { google: { thought_signature: "EjQKMgEMOdbHJChLX75QUCJj" } };
  const called = (place: string, more: object = {}) => ({
    ...{ id: "", type: "function", function: { name: "look_up", arguments: JSON.stringify({ place }) } },
    ...more,
  });
  const address = "https://generativelanguage.googleapis.com/v1beta/openai";
  const gemini = () => at(address, "gemini-3.5-flash");

  beforeEach(() => start("gemini"));

  test("gets each call back with its signature, though the answer ends as if nothing were called", async () => {
    answerNext(
      chunk({ role: "assistant", tool_calls: [called("Berlin", { id: "a", extra_content: signature })] }),
      chunk({}, "stop"),
    );
    expect(textIn(await turn(gemini()))).toBe("It rains.");
    const [, , answer] = lastBody().messages as { tool_calls: object[] }[];
    expect(answer?.tool_calls).toMatchObject([{ id: "a", extra_content: signature }]);
  });

  test("gives several calls under one index, or none, without ids", async () => {
    for (const more of [{ index: 0 }, {}]) {
      answerNext(
        chunk({ tool_calls: [called("Berlin", { ...more, extra_content: signature })] }),
        chunk({ tool_calls: [called("Rome", more)] }),
        chunk({}, "stop"),
      );
      const events = await collect(gemini(), asking("hello"));
      expect(callsIn(events).map(({ inputJson }) => inputJson)).toEqual(['{"place":"Berlin"}', '{"place":"Rome"}']);
      const ids = callsIn(events).map(({ id }) => id);
      expect(new Set(ids).size).toBe(2);
      expect(ids).not.toContain("");
    }
  });

  test("may split a call without an index, and give the signature alone", async () => {
    answerNext(
      chunk({ tool_calls: [{ id: "a", type: "function", function: { name: "look_up", arguments: '{"place":' } }] }),
      chunk({ tool_calls: [{ function: { arguments: '"Berlin"}' } }] }),
      chunk({ tool_calls: [{ extra_content: signature }] }),
      chunk({}, "stop"),
    );
    const provider = gemini();
    const request = asking("hello");
    const first = await collect(provider, request);
    expect(callsIn(first)).toMatchObject([{ inputJson: '{"place":"Berlin"}' }]);
    const second = await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
    expect(second.at(-1)).toMatchObject({ type: "end" });
  });

  test("continues a turn that another model began, whose calls have no signature", async () => {
    const messages: ModelMessage[] = [
      ...asking("hello").messages,
      { role: "assistant", text: "", toolCalls: [{ id: "a", name: "look_up", inputJson: "{}" }] },
      { role: "tool", callId: "a", name: "look_up", text: "Rain.", isError: false },
    ];
    expect((await collect(gemini(), asking("hello", { messages }))).at(-1)).toMatchObject({ type: "end" });
  });

  test("says why it refuses, also in a list, and in the stream", async () => {
    const error = { code: 400, message: "Please use a valid role.", status: "INVALID_ARGUMENT" };
    double.failNext({ type: "answer", status: 400, body: JSON.stringify([{ error }]) });
    expect(failureIn(await collect(gemini(), asking("hello"))).message).toContain("Please use a valid role.");
    answerNext([{ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }]);
    expect(failureIn(await collect(gemini(), asking("hello")))).toMatchObject({ code: "provider.overloaded" });
  });
});

describe("reasoning beside a call", () => {
  const call = { index: 0, id: "a", type: "function", function: { name: "look_up", arguments: '{"place":"Berlin"}' } };
  const sentBack = () =>
    (lastBody().messages as Record<string, unknown>[]).find(({ role }) => role === "assistant") ?? {};
  const openRouter = (model: string) => at("https://openrouter.ai/api/v1", model);

  test("goes back to OpenRouter in whole details, without the same text again", async () => {
    await start("openRouter");
    const detail = (more: object) => ({ type: "reasoning.text", index: 0, format: "anthropic-claude-v1", ...more });
    const sealed = { type: "reasoning.encrypted", data: "c2VhbGVk", id: "a", index: 0, format: "google-gemini-v1" };
    answerNext(
      chunk({ role: "assistant", reasoning: "The user ", reasoning_details: [detail({ text: "The user " })] }),
      chunk({ reasoning: "wants rain.", reasoning_details: [detail({ text: "wants rain.", signature: null })] }),
      chunk({ reasoning_details: [detail({ signature: "c2ln" })] }),
      chunk({ reasoning_details: [sealed, { ...sealed, id: "b" }], tool_calls: [call] }),
      chunk({}, "tool_calls"),
    );
    expect(textIn(await turn(openRouter("google/gemini-3.5-flash")))).toBe("It rains.");
    expect(sentBack()).not.toHaveProperty("reasoning");
    expect(sentBack().reasoning_details).toEqual([
      detail({ text: "The user wants rain.", signature: "c2ln" }),
      sealed,
      { ...sealed, id: "b" },
    ]);
  });

  test("that OpenRouter misses is named in the error, in the words of the model's service", async () => {
    await start("openRouter");
    const provider = openRouter("google/gemini-3.5-flash");
    const request = asking("one call");
    const first = await collect(provider, request);
    const failed = await collect(provider, { ...request, messages: [...request.messages, ...answered(first)] });
    expect(failureIn(failed).message).toContain("require OpenRouter reasoning details to be preserved");
  });

  test.each(["reasoning_content", "reasoning"])("goes back under the name that it came by: %s", async (name) => {
    await start("any");
    answerNext(
      chunk({ [name]: "Hm, " }),
      chunk({ [name]: "rain." }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls"),
    );
    await turn(here("deep-1"));
    expect(sentBack()).toMatchObject({ [name]: "Hm, rain.", tool_calls: [{ id: "a" }] });
    answerNext(chunk({ [name]: "Hm." }), chunk({ tool_calls: [call] }), chunk({}, "tool_calls"));
    const messages = answered(await collect(here("deep-1"), asking("hello")));
    await collect(here("deep-2"), asking("hello", { messages: [...asking("hello").messages, ...messages] }));
    expect(sentBack()).not.toHaveProperty(name);
  });

  test("keeps what a service gives with a call under names that nobody knows yet", async () => {
    await start("any");
    const strange = { ...call, seal: { v: 1 }, function: { ...call.function, thought: "b64" } };
    answerNext(chunk({ tool_calls: [strange] }), chunk({}, "tool_calls"));
    await turn(here("new-1"));
    const { index: _index, ...kept } = strange;
    expect(sentBack().tool_calls).toEqual([kept]);
  });
});

test("a tool without parameters, and 100 tools, are within what OpenAI takes", async () => {
  await start("openai");
  const tools = Array.from({ length: 100 }, (_, index) => ({ ...lookUp, name: `tool_${index}` }));
  const none = { ...lookUp, parameters: { type: "object" as const, properties: {} } };
  expect((await collect(at(openAi, "gpt-6-luna"), asking("hello", { tools: [...tools, none] }))).at(-1)).toMatchObject({
    type: "end",
  });
});
