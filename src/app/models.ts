/** Builds the provider cascade, the model prices, and the model choice of each conversation. */
import { createModelChoice, type ModelChoice } from "../commands/model-command.ts";
import { hasOwnAddress, modelsToChoose, providerSettings } from "../config/derive.ts";
import type { Log } from "../lib/log.ts";
import type { Provider } from "../ports/provider.ts";
import type { DollarLimits } from "../ports/usage.ts";
import { createCascade } from "../providers/cascade.ts";
import { createProviders, type ProviderStatus } from "../providers/select.ts";
import { createPriceList, type PriceOf } from "../usage/prices.ts";
import { type BudgetedUsageMeter, createUsageMeter } from "../usage/usage.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface Models {
  provider: Provider;
  statuses: ProviderStatus[];
  usage: BudgetedUsageMeter;
  priceOf: PriceOf;
  choice: ModelChoice;
}

export async function buildModels(options: AppOptions, state: State, signal: AbortSignal): Promise<Models> {
  const { settings, log } = options;
  const { ledger, store, events } = state;
  const { config } = settings;
  const { providers: ready, statuses } =
    options.providers === undefined
      ? await createProviders(providerSettings(settings), signal)
      : { providers: options.providers, statuses: [] };
  const priceOf = createPriceList({
    configured: config.models.prices,
    hasOwnAddress: (provider) => hasOwnAddress(settings, provider),
  });
  const providers = isHeldByBudget(config.limits.dollars) ? pricedFirst(ready, priceOf, log) : ready;
  const provider = createCascade({ providers, events });
  const choice = createModelChoice({
    store,
    models: modelsToChoose(settings, providers),
    isConversation: async (conversationId) =>
      (await ledger.list("turn", { group: conversationId, limit: 1 })).length > 0,
  });
  const usage = createUsageMeter({
    ...{ ledger, priceOf, limits: config.limits, log },
    estimate: {
      promptTokens: config.context.tokens,
      outputTokens: config.models.maxOutputTokens,
      modelOf: async ({ conversationId, scope }) => (await choice.preferred(conversationId, scope)) ?? provider.model,
      fallbacks: () => providers.map(({ model }) => model),
    },
  });
  return { statuses, provider, usage, priceOf, choice };
}

function isHeldByBudget({ unpriced, step: _step, ...limits }: DollarLimits): boolean {
  return unpriced === "refuse" && Object.values(limits).some((limit) => limit !== null);
}

/** A model without a price must not answer instead of another, because no budget would hold it. */
function pricedFirst(ready: Provider[], priceOf: PriceOf, log: Log): Provider[] {
  const priced = ready.filter(({ model }) => priceOf(model) !== undefined);
  const others = ready.filter((provider) => !priced.includes(provider)).map(({ model }) => model);
  if (others.length > 0)
    log.warn({ models: others }, "these models have no price, so calls are refused where a budget in dollars applies");
  return priced.length === 0 ? ready : priced;
}
