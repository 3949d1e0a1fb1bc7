/**
 * Finds the price of a model and computes the cost of a call. Without a price, the cost is unknown, never zero.
 *
 *   1. the configured prices: the model itself, then the longest matching prefix that ends in `*`
 *   2. the shipped table, for providers at their own address: the model itself, then the model without its date
 */
import { createLruMap } from "../lib/lru-map.ts";
import type { CachePrice, Usage } from "../ports/provider.ts";
import { type Price, type Prices, shippedPrices } from "./price-table.ts";

export type PriceOf = (model: string) => Price | undefined;

export interface PriceOptions {
  configured: Prices;
  /** False for a provider at another address, whose operator sets the prices. */
  hasOwnAddress(provider: string): boolean;
}

const maxLearnedModels = 200;

/** For example `-20251001`, `@20251001` or `-2026-03-05`. */
const dateSuffix = /[-@]\d{4}-?\d{2}-?\d{2}$/;

export function createPriceList({ configured, hasOwnAddress }: PriceOptions): PriceOf {
  return (model) => {
    const own = priceIn(configured, model);
    if (own !== undefined) return own;
    const [provider = ""] = model.split("/", 1);
    if (!hasOwnAddress(provider)) return undefined;
    return priceIn(shippedPrices, model) ?? priceIn(shippedPrices, model.replace(dateSuffix, ""));
  };
}

function priceIn(prices: Prices, model: string): Price | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [longest] = Object.keys(prices)
    .filter((key) => key.endsWith("*") && model.startsWith(key.slice(0, -1)))
    .sort((one, other) => other.length - one.length);
  return longest === undefined ? undefined : prices[longest];
}

/** In US dollars. */
export function costAt(price: Price, usage: Usage): number {
  const promptTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const rates = price.long !== undefined && promptTokens > price.long.above ? price.long : price;
  const { input, output, cacheRead = input, cacheWrite = input } = rates;
  const { cacheWriteHourTokens = 0 } = usage;
  const millionths =
    usage.inputTokens * input +
    usage.outputTokens * output +
    usage.cacheReadTokens * cacheRead +
    (usage.cacheWriteTokens - cacheWriteHourTokens) * cacheWrite +
    cacheWriteHourTokens * input * hourFactor;
  return millionths / 1_000_000;
}

/** What Anthropic asks for an entry that stays for an hour, times the input: https://platform.claude.com/docs/en/about-claude/pricing */
const hourFactor = 2;

/** Undefined if the input costs nothing. */
export function cachePriceOf({ input, cacheRead = input, cacheWrite = input }: Price): CachePrice | undefined {
  return input > 0 ? { read: cacheRead / input, write: cacheWrite / input, writeHour: hourFactor } : undefined;
}

/** In US dollars. Undefined if the model has no price. */
export function costOf(model: string, usage: Usage, priceOf: PriceOf): number | undefined {
  const price = priceOf(model);
  return price === undefined ? undefined : costAt(price, usage);
}

/** What models cost whose service reports each call's cost, and which have no price. */
export interface ReportedCosts {
  /** True if the model's cost is counted as its service reports it. */
  isReported(model: string): boolean;
  /** Once a call of the model has cost something, its calls count as reported. */
  note(model: string, usage: Usage): void;
  /** A price to reserve with. Before the first call, that of the most expensive models. */
  reservePriceOf: PriceOf;
  /** A price for calls whose cost is not said: from the calls before, or else, for a whole answer, a cautious one. */
  learnedPriceOf(model: string, isBroken: boolean): Price | undefined;
}

/** Most models ask at most five times as much for what they write. */
const outputFactor = 5;
const cautiousInput = 10;
/** US dollars per million tokens. The dearest models cost this much for what they read. */
const maxLearnedRate = 150;
/** What a service asks for the call itself makes a short one look dear. */
const minLearnedTokens = 1_000;

export function createReportedCosts(reportsCost: (model: string) => boolean = () => false): ReportedCosts {
  const reporting = createLruMap<true>(maxLearnedModels);
  /** US dollars per million tokens, the most that a call of the model has cost. */
  const rates = createLruMap<number>(maxLearnedModels);
  const isReported = (model: string) => reportsCost(model) || reporting.get(model) === true;
  const priceAt = (input: number): Price => ({ input, output: input * outputFactor });
  const reservePriceOf: PriceOf = (model) =>
    isReported(model) ? priceAt(rates.get(model) ?? cautiousInput) : undefined;

  return {
    isReported,
    note(model, usage) {
      // A service that says 0 of every call reports nothing.
      if (usage.cost === undefined || usage.cost <= 0) return;
      reporting.set(model, true);
      const tokens = usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
      if (tokens < minLearnedTokens) return;
      const rate = Math.min((usage.cost * 1_000_000) / tokens, maxLearnedRate);
      rates.set(model, Math.max(rates.get(model) ?? 0, rate));
    },
    reservePriceOf,
    learnedPriceOf(model, isBroken) {
      const rate = rates.get(model);
      if (rate !== undefined) return priceAt(rate);
      return isBroken ? undefined : reservePriceOf(model);
    },
  };
}

export function isFree({ input, output }: Price): boolean {
  return input === 0 && output === 0;
}
