/**
 * Reads what a service says that a call used, and believes only what can be: budgets add these numbers up, and one that is none
 * would void a day. What it charges, in US dollars, stands beside the tokens:
 *
 *   OpenRouter and gateways   `cost`; of a key of one's own only the fee, with the maker's price in `cost_details`
 *                             (https://openrouter.ai/docs/use-cases/usage-accounting)
 *   Perplexity                `cost.total_cost`
 *   xAI                       `cost_in_usd_ticks`, of which a dollar has 10^10 (https://docs.x.ai/developers/cost-tracking)
 */
import { isJsonObject } from "../lib/json.ts";
import type { Usage } from "../ports/provider.ts";

const ticksPerDollar = 1e10;
/** Several times what the models with the longest prompts take. */
const maxTokens = 20_000_000;
/** In US dollars. More than the dearest models ask per token, and for searches beside it. */
const maxPerToken = 0.001;
const maxBeside = 1;

/** 0 if the service does not say. Not a number if what it says is none. Some gateways send numbers as text. */
export function tokensIn(value: unknown): number {
  return numberIn(value ?? 0) ?? Number.NaN;
}

function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}

/** If one count is none, the others are not believed either. Then the call counts as one whose service says nothing. */
export function cleanUsage(usage: Usage): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteHourTokens: hour, cost } = usage;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].map((count) =>
    Math.ceil(tokensIn(count)),
  );
  const areCounts = counts.every((count) => count >= 0 && count <= maxTokens);
  const [input = 0, output = 0, read = 0, write = 0] = areCounts ? counts : [];
  const most = maxBeside + (input + output + read + write) * maxPerToken;
  return {
    ...{ inputTokens: input, outputTokens: output, cacheReadTokens: read, cacheWriteTokens: write },
    ...(hour !== undefined && hour > 0 && hour <= write ? { cacheWriteHourTokens: hour } : {}),
    ...(cost === undefined || !(cost >= 0) ? {} : { cost: Math.min(cost, most) }),
  };
}

export function reportedCost(usage: unknown): { cost?: number } {
  if (!isJsonObject(usage)) return {};
  const { cost, cost_details: details, is_byok: isOwnKey, cost_in_usd_ticks: ticks } = usage;
  const upstream = isOwnKey === true && isJsonObject(details) ? dollarsIn(details.upstream_inference_cost) : undefined;
  const charged = dollarsIn(isJsonObject(cost) ? cost.total_cost : cost);
  const dollars = charged === undefined ? dollarsIn(ticks, ticksPerDollar) : charged + (upstream ?? 0);
  return dollars === undefined ? {} : { cost: dollars };
}

function dollarsIn(value: unknown, perDollar = 1): number | undefined {
  const number = numberIn(value);
  return number !== undefined && number >= 0 ? number / perDollar : undefined;
}
