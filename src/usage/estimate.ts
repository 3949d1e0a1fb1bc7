/** Estimates the use of calls: the most that a call can cost, and the use of a call whose provider reported none. */
import { type CountedCall, type ModelCall, type Payer, type Reservation, tokensOf } from "../ports/usage.ts";
import type { Price, TokenPrices } from "./price-table.ts";
import { costAt, isFree, type PriceOf } from "./prices.ts";

export interface Estimate {
  /** The most tokens of a prompt and of an answer. */
  promptTokens: number;
  outputTokens: number;
  /** The `provider/model` that is asked first. */
  modelOf(place: Pick<Payer, "conversationId" | "scope">): Promise<string>;
  /** All models that may answer instead. */
  fallbacks(): readonly string[];
}

/** Characters per token, for text whose language is unknown. */
const charactersPerToken = 3;

/** The use of the most expensive model that may answer. */
export function estimatedUse(
  estimate: Estimate | undefined,
  model: string | undefined,
  priceOf: PriceOf,
): Pick<Reservation, "dollars" | "promptTokens" | "promptDollars"> {
  if (estimate === undefined || model === undefined) return { dollars: 0, promptTokens: 0, promptDollars: 0 };
  const { promptTokens, outputTokens } = estimate;
  const rates = (wanted: string): TokenPrices => {
    const price = priceOf(wanted) ?? { input: 0, output: 0 };
    return price.long !== undefined && promptTokens > price.long.above ? price.long : price;
  };
  const prompt = (wanted: string) => {
    const { input, cacheWrite = input } = rates(wanted);
    return (promptTokens * Math.max(input, cacheWrite)) / 1_000_000;
  };
  const all = [model, ...estimate.fallbacks()];
  const dollars = Math.max(...all.map((one) => prompt(one) + (outputTokens * rates(one).output) / 1_000_000));
  return { dollars, promptTokens, promptDollars: prompt(model) };
}

/**
 * What the service says that a call costs counts before any price. A call that broke off has probably been charged for its
 * prompt and for what it had answered. `learnedPriceOf` are prices of models that have no other, for calls whose cost the service does not say.
 */
export function countedCall(
  call: ModelCall,
  priceOf: PriceOf,
  learnedPriceOf?: (model: string, isBroken: boolean) => Price | undefined,
): CountedCall {
  const { model, promptTokens = 0, answerCharacters = 0, isBroken = false } = call;
  const price = priceOf(model);
  // A gateway that charges nothing itself says so of models for which the owner pays elsewhere.
  const isSaidFree = call.usage.cost === 0 && price !== undefined;
  const said = call.cost ?? (isSaidFree ? undefined : call.usage.cost);
  const isSilent = tokensOf(call.usage) === 0 && (price === undefined || !isFree(price));
  const isUnknown = isSilent || (isBroken && said === undefined);
  const estimated = {
    ...{ inputTokens: promptTokens, outputTokens: Math.ceil(answerCharacters / charactersPerToken) },
    ...{ cacheReadTokens: 0, cacheWriteTokens: 0 },
  };
  const usage = isUnknown ? estimated : call.usage;
  const rates = price ?? learnedPriceOf?.(model, isBroken);
  const cost = said ?? (rates && costAt(rates, usage));
  const isEstimated =
    (isUnknown && tokensOf(usage) > 0) || (said === undefined && price === undefined && rates !== undefined);
  return { usage, ...(cost === undefined ? {} : { cost }), ...(isEstimated ? { isEstimated } : {}) };
}
