/** Builds the provider cascade, the model prices, and the model choice of each conversation. */
import { createModelChoice, type ModelChoice } from "../commands/model-command.ts";
import { modelsToChoose, providerSettings } from "../config/derive.ts";
import type { Provider } from "../ports/provider.ts";
import type { UsageMeter } from "../ports/usage.ts";
import { createCascade } from "../providers/cascade.ts";
import { createProviders, type ProviderStatus } from "../providers/select.ts";
import { createUsageMeter } from "../usage/usage.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface Models {
  provider: Provider;
  statuses: ProviderStatus[];
  usage: UsageMeter;
  choice: ModelChoice;
}

export async function buildModels(options: AppOptions, state: State, signal: AbortSignal): Promise<Models> {
  const { settings, log } = options;
  const { ledger, store, events } = state;
  const { config } = settings;
  const { providers, statuses } =
    options.providers === undefined
      ? await createProviders(providerSettings(settings), signal)
      : { providers: options.providers, statuses: [] };
  return {
    statuses,
    provider: createCascade({ providers, events }),
    usage: createUsageMeter({ ledger, prices: config.models.prices, limits: config.limits, log }),
    choice: createModelChoice({
      store,
      models: modelsToChoose(settings, providers),
      isConversation: async (conversationId) =>
        (await ledger.list("turn", { group: conversationId, limit: 1 })).length > 0,
    }),
  };
}
