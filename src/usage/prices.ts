/** Computes the cost of a model call from the configured prices. Without a price, the cost is unknown, never zero. */
import type { Usage } from "../ports/provider.ts";

/** US dollars per million tokens. If cached tokens have no price, they cost as much as input tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** Keys are `provider/model`, or a prefix that ends in `*`. The longest matching prefix is used. */
export type Prices = Readonly<Record<string, Price>>;

/** In US dollars. Undefined if the model has no price. */
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
