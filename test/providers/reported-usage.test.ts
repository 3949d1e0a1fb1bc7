/** What services say that a call has used and cost, read with the real client libraries. */
import { afterEach, expect, test } from "vitest";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { asking, collect, createOpenAiChatProvider, createOpenAiResponsesProvider, scripted } from "./apis.ts";

let double: ModelDouble;
afterEach(() => double.stop());

async function usageOf(usage: object): Promise<object> {
  double = await startModelDouble({ service: "any" });
  scripted(double);
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage };
  double.failNext({
    type: "insert",
    before: (frame) => frame.includes("[DONE]"),
    frame: `data: ${JSON.stringify(chunk)}`,
  });
  const provider = createOpenAiChatProvider({ apiKey: "k", baseUrl: `${double.url}/v1`, model: "m" });
  const end = (await collect(provider, asking("hello"))).at(-1);
  return end?.type === "end" ? end.usage : { end };
}

/** Sources: OpenRouter and OpenAI, DeepSeek, Moonshot, and LiteLLM as it passes on what Anthropic says. */
test.each<[string, object, object]>([
  ["OpenRouter", { prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 4 } }, { cacheWriteTokens: 4 }],
  ["DeepSeek", { prompt_cache_hit_tokens: 90, prompt_cache_miss_tokens: 10 }, { cacheWriteTokens: 0 }],
  ["DeepSeek's newer one", { prompt_cache_hit_tokens: 90, prompt_tokens_details: { cached_tokens: 90 } }, {}],
  ["Moonshot", { cached_tokens: 90 }, { cacheWriteTokens: 0 }],
  ["LiteLLM", { cache_read_input_tokens: 90, cache_creation_input_tokens: 4 }, { cacheWriteTokens: 4 }],
])("what %s has read from its cache is no input besides", async (_service, details, more) => {
  const usage = await usageOf({ prompt_tokens: 100, completion_tokens: 2, ...details });
  expect(usage).toMatchObject({ cacheReadTokens: 90, outputTokens: 2, ...more });
  const { inputTokens, cacheWriteTokens } = usage as Record<string, number>;
  expect((inputTokens ?? 0) + (cacheWriteTokens ?? 0)).toBe(10);
});

async function costOf(create: typeof createOpenAiChatProvider, usage: object): Promise<number | undefined> {
  double = await startModelDouble({ service: "any" });
  scripted(double);
  const isChat = create === createOpenAiChatProvider;
  const tokens = isChat
    ? { prompt_tokens: 194, completion_tokens: 2, total_tokens: 196 }
    : { input_tokens: 194, output_tokens: 2, total_tokens: 196 };
  const said = { ...tokens, ...usage };
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: said };
  const completed = { type: "response.completed", response: { id: "r", status: "completed", output: [], usage: said } };
  double.failNext(
    isChat
      ? { type: "insert", before: (frame) => frame.includes("[DONE]"), frame: `data: ${JSON.stringify(chunk)}` }
      : {
          ...{ type: "insert", before: (frame) => frame.includes("response.completed") },
          frame: `event: response.completed\ndata: ${JSON.stringify(completed)}`,
        },
  );
  const provider = create({ apiKey: "k", baseUrl: `${double.url}/v1`, model: "deepseek/deepseek-v4" });
  const end = (await collect(provider, asking("hello"))).at(-1);
  if (end?.type !== "end") throw new Error(JSON.stringify(end));
  expect(end.usage).toMatchObject({ inputTokens: 194, outputTokens: 2 });
  return end.usage.cost;
}

const apis = [createOpenAiChatProvider, createOpenAiResponsesProvider];

test.each(apis)("a service's own cost is that of the call (%o)", async (create) => {
  expect(await costOf(create, { cost: 0.00095 })).toBe(0.00095);
});

test.each(apis)("xAI's ticks are dollars, of which each has ten thousand million (%o)", async (create) => {
  expect(await costOf(create, { cost_in_usd_ticks: 37_756_000 })).toBeCloseTo(0.0037756, 10);
});

test("with a key of one's own at OpenRouter, what the maker charges is part of the cost", async () => {
  const details = { upstream_inference_cost: 0.019 };
  expect(await costOf(createOpenAiChatProvider, { cost: 0.00095, is_byok: true, cost_details: details })).toBeCloseTo(
    0.01995,
    10,
  );
});

test("what the maker charges OpenRouter is no cost besides OpenRouter's own", async () => {
  const details = { upstream_inference_cost: 0.0009 };
  expect(await costOf(createOpenAiChatProvider, { cost: 0.00095, is_byok: false, cost_details: details })).toBe(
    0.00095,
  );
});

test("Perplexity's total is the cost", async () => {
  expect(await costOf(createOpenAiChatProvider, { cost: { input_tokens_cost: 0.001, total_cost: 0.006 } })).toBe(0.006);
});

test.each([{}, { cost: null }, { cost: "much" }, { cost: -1 }, { cost: {} }, { cost_in_usd_ticks: "many" }])(
  "%j says no cost",
  async (usage) => {
    expect(await costOf(createOpenAiChatProvider, usage)).toBeUndefined();
  },
);

test("a cost that is written as text is read", async () => {
  expect(await costOf(createOpenAiChatProvider, { cost: "0.1" })).toBe(0.1);
});

test.each([{ cost: 1e308 }, { cost: 1e308, is_byok: true, cost_details: { upstream_inference_cost: 1e308 } }])(
  "%j is no more than the dearest call of its length",
  async (usage) => {
    expect(await costOf(createOpenAiChatProvider, usage)).toBeCloseTo(1.196, 6);
  },
);
