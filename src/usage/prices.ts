/** What a model call costs, by the price table of the configuration. A model without a price costs an unknown amount, not nothing. */
import type { Usage } from "../ports/provider.ts";

/** US dollars for a million tokens. Without a price of their own, cached tokens cost as much as others. */
export interface Price {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** By `provider/model`; a key that ends in `*` is for all models whose name begins so, the longest one first. */
export type Prices = Readonly<Record<string, Price>>;

/** US dollars; undefined when the model has no price. */
export function costOf(model: string, usage: Usage, prices: Prices): number | undefined {
  const price = priceOf(model, prices);
  if (price === undefined) return undefined;
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  const millionths =
    usage.inputTokens * input +
    usage.outputTokens * output +
    usage.cacheReadTokens * cacheRead +
    usage.cacheWriteTokens * cacheWrite;
  return millionths / 1_000_000;
}

function priceOf(model: string, prices: Prices): Price | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [longest] = Object.keys(prices)
    .filter((key) => key.endsWith("*") && model.startsWith(key.slice(0, -1)))
    .sort((one, other) => other.length - one.length);
  return longest === undefined ? undefined : prices[longest];
}
