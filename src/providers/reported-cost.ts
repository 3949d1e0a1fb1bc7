/**
 * Reads what a service itself says that a call costs, in US dollars, from the usage that it reports:
 *
 *   OpenRouter and gateways   `cost`; of a key of one's own only the fee, with the maker's price in `cost_details`
 *                             (https://openrouter.ai/docs/use-cases/usage-accounting)
 *   Perplexity                `cost.total_cost`
 *   xAI                       `cost_in_usd_ticks`, of which a dollar has 10^10 (https://docs.x.ai/developers/cost-tracking)
 */
import { isJsonObject } from "../lib/json.ts";

const ticksPerDollar = 1e10;

export function reportedCost(usage: unknown): { cost?: number } {
  if (!isJsonObject(usage)) return {};
  const { cost, cost_details: details, is_byok: isOwnKey, cost_in_usd_ticks: ticks } = usage;
  const upstream = isOwnKey === true && isJsonObject(details) ? dollarsIn(details.upstream_inference_cost) : undefined;
  const charged = dollarsIn(isJsonObject(cost) ? cost.total_cost : cost);
  const dollars = charged === undefined ? dollarsIn(ticks, ticksPerDollar) : charged + (upstream ?? 0);
  return dollars === undefined ? {} : { cost: dollars };
}

function dollarsIn(value: unknown, perDollar = 1): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value / perDollar : undefined;
}
