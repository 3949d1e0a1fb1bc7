/** How much of a conversation a model of Ollama gets, with the real client against a double that cuts as Ollama does. */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createEvents } from "../../src/lib/event-bus.ts";
import type { ModelMessage, ModelRequest } from "../../src/ports/provider.ts";
import { createCascade } from "../../src/providers/cascade.ts";
import { createOllamaProvider, type OllamaOptions } from "../../src/providers/ollama.ts";
import { createOllamaContexts } from "../../src/providers/ollama-context.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import type { InstalledModel } from "../doubles/model-rules/ollama.ts";
import { asking, collect, failureIn, patient, text, textIn, usualContext } from "./apis.ts";

const qwen: InstalledModel = {
  ...{ name: "qwen3.5:4b", capabilities: ["completion", "tools"], contextLength: 262_144 },
};
const report = (sentences: number) => "The report has many sentences, and this is one of them. ".repeat(sentences);
const seenSchema = z.object({ messages: z.array(z.object({ role: z.string() })) });
const signal = new AbortController().signal;

let double: ModelDouble;
async function start(model: Partial<InstalledModel> = {}): Promise<void> {
  double = await startModelDouble({ installed: [{ ...qwen, ...model }] });
  double.mock.onMessage("hello", { content: text });
}
afterEach(() => double.stop());

function qwenAt(more: Partial<OllamaOptions> = {}) {
  return createOllamaProvider({
    ...{ host: double.url, model: qwen.name, timeouts: patient, context: usualContext },
    ...more,
  });
}

function afterTool(result: string): ModelMessage[] {
  return [
    { role: "user", content: [{ type: "text", text: "hello" }] },
    { role: "assistant", text: "", toolCalls: [{ id: "a", name: "look_up", inputJson: "{}" }] },
    { role: "tool", callId: "a", name: "look_up", text: result, isError: false },
  ];
}

/** As the engine gives it: the smaller ones have less of the result. */
function longRequest(): ModelRequest & { asked: (number | undefined)[] } {
  const asked: (number | undefined)[] = [];
  const within = (tokens = 16_000) => {
    asked.push(tokens);
    return asking("", { messages: afterTool(report(Math.floor(tokens / 14))) });
  };
  return { ...asking("", { messages: afterTool(report(2_000)) }), fitting: within, shorter: within, asked };
}

const contexts = () => double.requests.map(({ body }) => (body.options as { num_ctx?: number }).num_ctx);
const cascadeOf = (provider = qwenAt()) => createCascade({ providers: [provider], events: createEvents(), pauseMs: 1 });

describe("a prompt for Ollama", () => {
  test("reaches the model whole, with the question, also when a tool's result is much longer than 4,096 tokens", async () => {
    await start();
    const events = await collect(qwenAt(), asking("", { messages: afterTool(report(800)) }));
    expect(textIn(events)).toBe(text);
    const { messages } = seenSchema.parse(double.mock.getRequests().at(-1)?.body);
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
  });

  test("that is too long for the model is refused instead of cut, and built anew within what the model takes", async () => {
    await start({ contextLength: 8_192 });
    const request = longRequest();
    const cascade = cascadeOf();
    expect(textIn(await collect(cascade, request))).toBe(text);
    expect(request.asked).toEqual([5_342]);
    expect(double.requests).toHaveLength(2);
    expect(double.requests.every(({ body }) => body.truncate === false && body.shift === false)).toBe(true);
    // From then on, the limit is known.
    expect(textIn(await collect(cascade, request))).toBe(text);
    expect(request.asked).toEqual([5_342, 5_342]);
    expect(double.requests).toHaveLength(3);
  });

  test.each([
    "request (40000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "input length (40000 tokens) exceeds the model's maximum context length (4096 tokens)",
  ])("is built within what the server really gave, also later, after “%s”", async (error) => {
    await start();
    const request = longRequest();
    const cascade = cascadeOf();
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    for (const _message of [1, 2]) expect(textIn(await collect(cascade, request))).toBe(text);
    expect(request.asked).toEqual([2_671, 2_671]);
    // Another value would load the model anew.
    expect(contexts()).toEqual([45_056, 45_056, 45_056]);
  });

  test("that a model counts as longer than estimated is sent once more with half of what it was said to take", async () => {
    await start({ contextLength: 8_192 });
    const provider = qwenAt();
    const request = longRequest();
    await collect(provider, asking("hello"));
    double.failNext({
      ...{ type: "answer", status: 500 },
      body: JSON.stringify({
        error: "input length (9000 tokens) exceeds the model's maximum context length (8192 tokens)",
      }),
    });
    expect(textIn(await collect(cascadeOf(provider), request))).toBe(text);
    expect(request.asked).toEqual([5_342, 2_671]);
  });
});

describe("the context with which a model is loaded", () => {
  test.each<[string, Partial<InstalledModel>, number | undefined, number]>([
    ["has room for context.tokens and an answer", {}, undefined, 45_056],
    ["is never more than the model has", { contextLength: 32_768 }, undefined, 32_768],
    ["is what the setting says", {}, 100_000, 100_000],
    ["is never more than the model has, whatever the setting says", { contextLength: 8_192 }, 100_000, 8_192],
    ["is what the model's Modelfile says", { parameters: "temperature 0.7\nnum_ctx 16384" }, undefined, 16_384],
    ["is the usual one for versions that say nothing about the model", { contextLength: undefined }, undefined, 45_056],
  ])("%s", async (_says, model, contextTokens, expected) => {
    await start(model);
    const wishes = contextTokens === undefined ? usualContext : { ...usualContext, contextTokens };
    await collect(qwenAt({ context: wishes }), asking("hello"));
    expect(contexts()).toEqual([expected]);
  });

  test("stays the same whatever a request asks for, because Ollama loads the model anew for another one", async () => {
    await start();
    const provider = qwenAt();
    for (const maxOutputTokens of [16, 16_000]) await collect(provider, asking("hello", { maxOutputTokens }));
    await collect(provider, { ...asking("hello"), tools: [] });
    expect(contexts()).toEqual([45_056, 45_056, 45_056]);
  });

  test("is left to Ollama for a model that runs elsewhere", async () => {
    await start({ remoteHost: "https://ollama.com:443" });
    await collect(qwenAt(), asking("hello"));
    expect(contexts()).toEqual([undefined]);
  });

  test("is halved until it fits, if the machine has too little memory, and stays so", async () => {
    await start({ fits: 12_000 });
    const provider = qwenAt();
    for (const _message of [1, 2]) expect(textIn(await collect(provider, asking("hello")))).toBe(text);
    expect(contexts()).toEqual([45_056, 22_528, 11_264, 11_264]);
  });

  test("is halved at most twice for one message, at least 8,192, and then people read that there is too little memory", async () => {
    await start({ fits: 4_096 });
    const provider = qwenAt();
    await collect(provider, asking("hello"));
    expect(contexts()).toEqual([45_056, 22_528, 11_264]);
    const { code, message, isRetryable } = failureIn(await collect(provider, asking("hello")));
    expect([code, isRetryable]).toEqual(["provider.no-memory", false]);
    expect(message).toMatch(/too little memory for qwen3\.5:4b .*9\.3 GiB.*smaller model \(models\.ollama\.model\)/);
    expect(contexts()).toEqual([45_056, 22_528, 11_264, 8_192]);
  });

  test.each([
    "llama runner process has terminated: cudaMalloc failed: out of memory",
    "llama runner process has terminated: signal: killed",
    "llama-server reported out-of-memory during startup: ggml_backend_cuda_buffer_type_alloc_buffer: failed to allocate",
  ])("is halved after “%s”", async (error) => {
    await start();
    double.failNext({ type: "answer", status: 500, body: JSON.stringify({ error }) });
    expect(textIn(await collect(qwenAt(), asking("hello")))).toBe(text);
    expect(contexts()).toEqual([45_056, 22_528]);
  });
});

describe("what is learned of a model's context", () => {
  const unlimited = (now?: () => number) =>
    createOllamaContexts(double.url, usualContext, Number.POSITIVE_INFINITY, now);

  test.each([
    `error parsing tool call: raw='{"q":"why is my pod killed: out of memory"', err=unexpected end of JSON input`,
    "error parsing tool call: out of memory is no JSON",
    `model said "insufficient memory" and stopped`,
  ])("is nothing if the server quotes what the model wrote: “%s”", async (error) => {
    await start();
    const provider = qwenAt();
    double.failNext({ type: "answer", status: 500, body: JSON.stringify({ error }) });
    for (const _message of [1, 2]) await collect(provider, asking("hello"));
    expect(contexts()).toEqual([45_056, 45_056]);
  });

  test("is forgotten after an hour, because memory may be free again", async () => {
    await start({ fits: 30_000 });
    let now = 0;
    const provider = qwenAt({ context: unlimited(() => now) });
    await collect(provider, asking("hello"));
    now = 3_599_000;
    await collect(provider, asking("hello"));
    now = 3_601_000;
    await collect(provider, asking("hello"));
    expect(contexts()).toEqual([45_056, 22_528, 22_528, 45_056, 22_528]);
  });

  test("is learned once by messages that are refused together", async () => {
    await start();
    const known = unlimited();
    await known.of(qwen.name, signal);
    for (const _message of [1, 2, 3]) expect(known.shrink(qwen.name, 45_056)).toBe(true);
    expect((await known.of(qwen.name, signal)).numCtx).toBe(22_528);
  });

  test("leaves room for the instructions, whatever a server says that it has", async () => {
    await start();
    const known = unlimited();
    const provider = qwenAt({ context: known });
    const error = "the request exceeds the available context size (1 tokens)";
    double.failNext({ type: "answer", status: 400, body: JSON.stringify({ error }) });
    await collect(provider, asking("hello"));
    expect(known.promptTokens(qwen.name)).toBeGreaterThan(1_000);
  });

  test.each([0.5, 3, 1e30])("is nothing from a model that is said to have %d tokens", async (contextLength) => {
    await start({ contextLength, parameters: "num_ctx 2" });
    await collect(qwenAt(), asking("hello"));
    expect(contexts()).toEqual([45_056]);
  });
});

test("a runner that ends for another reason is a failure of the server, and not loaded again and again", async () => {
  await start();
  const error = "llama runner process has terminated: exit status 2";
  double.failNext({ type: "answer", status: 500, body: JSON.stringify({ error }) });
  expect(failureIn(await collect(qwenAt(), asking("hello"))).code).toBe("provider.server-error");
  expect(contexts()).toEqual([45_056]);
});

/** Qwen3 8B: keys and values of 36 layers with 8 heads of 128 numbers each, 144 KiB a token. */
const dense = {
  block_count: 36,
  "attention.head_count": 32,
  "attention.head_count_kv": 8,
  "attention.key_length": 128,
  "attention.value_length": 128,
};
const gigabyte = 2 ** 30;

test.each<[string, Record<string, unknown>, number, number]>([
  ["a dense model on 16 GB gets what 80 % of the memory holds beside its file", dense, 16, 45_056],
  ["a dense model on 12 GB gets less", dense, 12, 33_792],
  ["a dense model on 7 GB gets at least 8,192", dense, 7, 8_192],
  [
    "a model with full attention in every fourth layer gets all on 8 GB",
    { ...dense, full_attention_interval: 4 },
    8,
    45_056,
  ],
  [
    "a model with a sliding window gets all, because most layers keep little",
    { ...dense, "attention.sliding_window": 512 },
    8,
    45_056,
  ],
  ["a model that is larger than the memory gets all, because it is on a GPU", dense, 4, 45_056],
])("%s", async (_says, info, gigabytes, expected) => {
  await start({ info, size: 5.2 * 10 ** 9 });
  const { numCtx } = await createOllamaContexts(double.url, usualContext, gigabytes * gigabyte).of(qwen.name, signal);
  expect(numCtx).toBe(expected);
});

test.each<[Partial<InstalledModel>, Partial<typeof usualContext> & { contextTokens?: number }, RegExp | undefined]>([
  [{}, {}, undefined],
  [
    { contextLength: 8_192 },
    {},
    /8,192 tokens of context.* cut to 5,342 instead of context\.tokens \(32,000\).*no more.*models\.ollama\.model/,
  ],
  [{ parameters: "num_ctx 4096" }, {}, /Modelfile says so.*models\.ollama\.contextTokens/],
  [{}, { contextTokens: 16_384 }, /models\.ollama\.contextTokens says so.*Raise it/],
])("a context below context.tokens is explained: %o %o", async (model, wishes, expected) => {
  await start(model);
  const known = createOllamaContexts(double.url, { ...usualContext, ...wishes });
  await known.of(qwen.name, signal);
  const problem = known.problemOf(qwen.name);
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(Object.values(problem ?? {}).join(". ")).toMatch(expected);
});
