/** Builds the provider cascade, the model prices, and the model choice of each conversation. */
import { createModelChoice, type ModelChoice } from "../commands/model-command.ts";
import { hasBudget, hasOwnAddress, modelsToChoose, providerSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { createModelWatch, type ModelWatch } from "../health/model-watch.ts";
import type { Log } from "../lib/log.ts";
import type { Provider } from "../ports/provider.ts";
import { createCascade } from "../providers/cascade.ts";
import { createProviders, type ProviderStatus } from "../providers/select.ts";
import { createPriceList, type PriceOf } from "../usage/prices.ts";
import { type BudgetedUsageMeter, createUsageMeter } from "../usage/usage.ts";
import { type AppOptions, type Role, takesTurns } from "./options.ts";
import type { State } from "./state.ts";

export interface Models {
  provider: Provider;
  statuses: ProviderStatus[];
  usage: BudgetedUsageMeter;
  priceOf: PriceOf;
  choice: ModelChoice;
  watch: ModelWatch;
}

export async function buildModels(options: AppOptions, state: State, signal: AbortSignal): Promise<Models> {
  const { settings, role, log } = options;
  const { ledger, store, events } = state;
  const { config } = settings;
  const { providers: ready, statuses } =
    options.providers === undefined
      ? await createProviders({ ...providerSettings(settings), refusesDemo: refusesDemo(settings, role) }, signal)
      : { providers: options.providers, statuses: [] };
  const { dollars } = config.limits;
  const priceOf = createPriceList({
    configured: config.models.prices,
    hasOwnAddress: (provider) => hasOwnAddress(settings, provider),
  });
  const chosen = hasBudget(dollars) && dollars.unpriced === "refuse" ? pricedFirst(ready, priceOf, log) : ready;
  const watch = createModelWatch();
  const providers = chosen.map(watch.observe);
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
  return { statuses, provider, usage, priceOf, choice, watch };
}

/** People in a chat service would take the demo's fixed phrases for answers. */
function refusesDemo({ discord, slack }: Settings, role: Role): boolean {
  return takesTurns(role) && (discord !== null || slack !== null);
}

/** A model without a price must not answer instead of another, because no budget would hold it. */
function pricedFirst(ready: Provider[], priceOf: PriceOf, log: Log): Provider[] {
  const priced = ready.filter(({ model }) => priceOf(model) !== undefined);
  const others = ready.filter((provider) => !priced.includes(provider)).map(({ model }) => model);
  if (others.length > 0)
    log.warn({ models: others }, "these models have no price, so calls are refused where a budget in dollars applies");
  return priced.length === 0 ? ready : priced;
}
