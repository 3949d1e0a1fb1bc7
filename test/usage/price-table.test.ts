/** The shipped prices: their form, their date, and how the configuration overrides them. */
import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { priceTableDate, priceTableSources, shippedMinutePrices, shippedPrices } from "../../src/usage/price-table.ts";
import { cachePriceOf, costAt, createPriceList } from "../../src/usage/prices.ts";
import { noUsage } from "../doubles/scripted-provider.ts";

const official = createPriceList({ configured: {}, hasOwnAddress: () => true });

test("the table has a date that has been, and its sources", () => {
  expect(priceTableDate).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(Date.parse(priceTableDate)).toBeLessThanOrEqual(Date.now());
  for (const source of priceTableSources) expect(URL.canParse(source)).toBe(true);
});

test.each(Object.entries(shippedPrices))("%s has sensible prices", (model, price) => {
  expect(model).toMatch(/^(?:anthropic|openai|ollama|demo)\/\S+$/);
  for (const { input, output, cacheRead = 0, cacheWrite = input } of [price, ...(price.long ? [price.long] : [])]) {
    for (const value of [input, output, cacheRead, cacheWrite]) {
      expect(Number.isFinite(value) && value >= 0 && value <= 200).toBe(true);
    }
    expect(cacheRead).toBeLessThanOrEqual(input);
    expect(cacheWrite).toBeGreaterThanOrEqual(input);
    expect(output === 0 || output >= input).toBe(true);
  }
  const { long } = price;
  if (long !== undefined) expect(long.input).toBeGreaterThan(price.input);
});

test("the default models have a price, also with a date; names that only begin alike do not", () => {
  const { anthropic, openai } = configSchema.parse({}).models;
  expect(official(`anthropic/${anthropic.model}`)).toBeDefined();
  expect(official(`openai/${openai.model}`)).toBeDefined();
  expect(official("anthropic/claude-haiku-4-5-20251001")).toEqual(official("anthropic/claude-haiku-4-5"));
  expect(official("openai/gpt-5.4-2026-03-05")).toEqual(official("openai/gpt-5.4"));
  expect(official("openai/gpt-5.4-secret")).toBeUndefined();
  expect(official("mistral/large")).toBeUndefined();
  expect(official("ollama/anything:7b")).toEqual({ input: 0, output: 0 });
});

test.each([
  ["anthropic/claude-fable-5-2", { input: 8, output: 40, cacheRead: 0.2, cacheWrite: 10 }],
  ["openai/gpt-6.1-terra", { input: 1, output: 5, cacheRead: 0.05, cacheWrite: 1.25 }],
  ["openai/gpt-5.6-sol", { input: 5, output: 30, cacheRead: 0.5, cacheWrite: 6.25 }],
  ["openai/gpt-5.6-terra", { input: 2, output: 12, cacheRead: 0.2, cacheWrite: 2.5 }],
  ["openai/gpt-5.6-luna", { input: 0.2, output: 1.2, cacheRead: 0.02, cacheWrite: 0.25 }],
])("%s costs what its maker asks of new customers, also for the cache", (model, price) => {
  expect(official(model)).toMatchObject(price);
});

test("a model of OpenAI from GPT-5.6 on costs more to write into the cache, and each of these has that price", () => {
  for (const [model, { input, cacheWrite }] of Object.entries(shippedPrices)) {
    const [, major = "", minor = "0"] = /^openai\/gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? [];
    if (Number(major) > 5 || (major === "5" && Number(minor) >= 6)) expect(cacheWrite).toBeCloseTo(input * 1.25, 6);
  }
});

test("configured prices come first, and the table does not apply to another server", () => {
  const configured = { "openai/*": { input: 7, output: 8 } };
  const own = createPriceList({ configured, hasOwnAddress: () => true });
  expect(own("openai/gpt-5.4-mini")).toEqual({ input: 7, output: 8 });
  const compatible = createPriceList({ configured: {}, hasOwnAddress: (provider) => provider !== "openai" });
  expect(compatible("openai/gpt-5.4-mini")).toBeUndefined();
  expect(compatible("anthropic/claude-sonnet-5-5")).toBeDefined();
});

test("a long prompt costs the long prices for the whole call, cached tokens included", () => {
  const price = official("anthropic/claude-haiku-5-5") ?? { input: 0, output: 0 };
  const short = { ...noUsage, inputTokens: 50_000, cacheReadTokens: 50_000, outputTokens: 1_000 };
  expect(costAt(price, short)).toBeCloseTo(0.005 + 0.0005 + 0.0005, 6);
  expect(costAt(price, { ...short, inputTokens: 50_001 })).toBeCloseTo(0.0250005 + 0.0025 + 0.0025, 6);
});

test("transcription is priced by the minute", () => {
  for (const value of Object.values(shippedMinutePrices)) expect(value).toBeGreaterThan(0);
});

describe("the configuration refuses", () => {
  test.each([
    [{ models: { prices: { "a/b": { input: -1, output: 1 } } } }],
    [{ models: { prices: { "a/b": { input: Number.NaN, output: 1 } } } }],
    [{ models: { prices: { "a/b": { input: Number.POSITIVE_INFINITY, output: 1 } } } }],
    [{ limits: { dollars: { user: -1 } } }],
    [{ limits: { dollars: { user: Number.NaN } } }],
    [{ limits: { dollars: { step: 0 } } }],
    [{ limits: { dollars: { unpriced: "maybe" } } }],
  ])("%j", (config) => {
    expect(configSchema.safeParse(config).success).toBe(false);
  });
});

test("what a service keeps for an hour costs twice the input", () => {
  const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 1_000 };
  expect(costAt(price, usage)).toBeCloseTo(0.0025, 6);
  expect(costAt(price, { ...usage, cacheWriteHourTokens: 400 })).toBeCloseTo(0.0015 + 0.0016, 6);
});

test.each([
  ["Claude", { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }, { read: 0.05, write: 1.25, writeHour: 2 }],
  ["a service that says nothing of caches", { input: 2, output: 10 }, { read: 1, write: 1, writeHour: 2 }],
  ["a service that is free", { input: 0, output: 0 }, undefined],
])("what caches cost at %s is known as multiples of the input's price", (_who, price, multiples) => {
  expect(cachePriceOf(price)).toEqual(multiples);
});
