/** Builds the provider cascade, the model prices, the model choice of each conversation, and what names people to services. */
import { createHmac, randomBytes } from "node:crypto";
import { createModelChoice, type ModelChoice } from "../commands/model-command.ts";
import { hasBudget, hasOwnAddress, modelsToChoose, providerSettings, reportsCost } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { createModelWatch, type ModelWatch } from "../health/model-watch.ts";
import type { Log } from "../lib/log.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Provider } from "../ports/provider.ts";
import type { Payer } from "../ports/usage.ts";
import { createCascade } from "../providers/cascade.ts";
import { createNetwork, type Network } from "../providers/network.ts";
import { isKnownService } from "../providers/patience.ts";
import { createRefusedKeys } from "../providers/refused-keys.ts";
import { createProviders, type ProviderStatus, warningsOf } from "../providers/select.ts";
import { createProxyRules } from "../proxy/proxy-rules.ts";
import { cachePriceOf, createPriceList, type PriceOf } from "../usage/prices.ts";
import { type BudgetedUsageMeter, createUsageMeter } from "../usage/usage.ts";
import { endingChecks } from "./model-endings.ts";
import { type AppOptions, type Role, takesTurns } from "./options.ts";
import type { State } from "./state.ts";

/** Then nobody knows what is cheaper. */
const noPrice = { input: 0, output: 0 };
const noNetwork = "this machine has no network";

export interface Models {
  provider: Provider;
  statuses: ProviderStatus[];
  /** Why only the demo answered at the start, although the settings name a model service. Otherwise empty. */
  demoInstead: string;
  usage: BudgetedUsageMeter;
  priceOf: PriceOf;
  choice: ModelChoice;
  /** The digest that names a person to model services. Undefined if the settings say that nobody is named. */
  endUserOf(person: Pick<Payer, "platform" | "user">): Promise<string | undefined>;
  watch: ModelWatch;
  close(): Promise<void>;
}

export async function buildModels(options: AppOptions, state: State, signal: AbortSignal): Promise<Models> {
  const { settings, role, log } = options;
  const { ledger, store, events } = state;
  const { config } = settings;
  const priceOf = createPriceList({
    configured: config.models.prices,
    hasOwnAddress: (provider) => hasOwnAddress(settings, provider),
  });
  const chosenBy = {
    refusesDemo: refusesDemo(settings, role),
    cachePriceOf: (model: string) => cachePriceOf(priceOf(model) ?? noPrice),
  };
  const {
    providers: ready,
    statuses,
    demoInstead,
    lookAgain,
  } = options.providers === undefined
    ? await createProviders({ ...providerSettings(settings), ...chosenBy }, signal)
    : { providers: options.providers, statuses: [], demoInstead: "", lookAgain: undefined };
  const { dollars } = config.limits;
  const hasCost = (model: string) => priceOf(model) !== undefined || reportsCost(settings, model);
  const chosen = hasBudget(dollars) && dollars.unpriced === "refuse" ? pricedFirst(ready, hasCost, log) : ready;
  const refusedKeys = createRefusedKeys(store);
  await refusedKeys.load(chosen);
  const watch = createModelWatch({
    log,
    refusal: (one) => refusedKeys.reasonOf(one, one.model),
    mayBeSlow: ({ address }) => address !== undefined && !isKnownService(address),
  });
  const providers = chosen.map(watch.observe);
  const network = createNetwork({
    firstHop: firstHopOf(settings),
    onChange: (isOffline) =>
      isOffline ? log.warn({}, `${noNetwork}. Local models answer`) : log.info({}, "this machine has a network again"),
  });
  const cascade = createCascade({ providers, events, network, refusedKeys });
  const models = modelsToChoose(settings, providers);
  const find = createLateModel(lookAgain, (late) => {
    chosen.unshift(late);
    providers.unshift(watch.observe(late));
    models.splice(0, models.length, ...modelsToChoose(settings, providers));
    log.info({ model: late.model }, `${late.model} answers from now on, and no longer the demo`);
  });
  const provider: Provider = {
    ...cascade,
    get model() {
      return providers[0]?.model ?? cascade.model;
    },
    async *stream(request, within) {
      await find(within);
      yield* cascade.stream(request, within);
    },
  };
  const choice = createModelChoice({
    ...{ store, models },
    isConversation: async (conversationId) =>
      (await ledger.list("turn", { group: conversationId, limit: 1 })).length > 0,
  });
  const usage = createUsageMeter({
    ...{ ledger, priceOf, limits: config.limits, log, reportsCost: (model) => reportsCost(settings, model) },
    estimate: {
      promptTokens: config.context.tokens,
      outputTokens: config.models.maxOutputTokens,
      modelOf: async ({ conversationId, scope }) => (await choice.preferred(conversationId, scope)) ?? provider.model,
      fallbacks: () => providers.map(({ model }) => model),
    },
  });
  const endings = () => endingChecks(settings, chosen, { asked: watch.chosen() });
  for (const { what, todo } of endings()) log.warn({}, `${what}. ${todo}`);
  const isDemoAlone = () =>
    demoInstead !== "" && chosen.every(({ name, model }) => name === "demo" || !watch.isAnswering(model));
  const demoChecks = () => (isDemoAlone() ? [demoAloneCheck(demoInstead)] : []);
  for (const { what, todo } of demoChecks()) log.warn({}, `${what}. ${todo}`);
  const checks = () => [
    ...watch.checks(),
    ...demoChecks(),
    ...endings(),
    ...networkChecks(chosen, network),
    ...warningsOf(statuses),
  ];
  const watched: ModelWatch = {
    ...{ ...watch, checks },
    async check(within, count) {
      await find(within);
      await watch.check(within, count);
    },
  };
  const endUserOf = config.models.userIds === "off" ? async () => undefined : createEndUsers(ledger);
  return {
    statuses,
    demoInstead,
    provider,
    usage,
    priceOf,
    choice,
    endUserOf,
    watch: watched,
    close: async () => network.close(),
  };
}

/**
 * Names people by a keyed digest, because ids of chat services are so few that a service could try them all. All processes
 * share the key, so a person keeps the same name.
 */
function createEndUsers(ledger: Pick<Ledger, "create" | "get">): Models["endUserOf"] {
  const id = "end-users";
  let key: Promise<string> | undefined;

  async function sharedKey(): Promise<string> {
    const value = randomBytes(32).toString("hex");
    await ledger.create("secret", id, { state: "kept", body: { value }, group: "" });
    return (await ledger.get("secret", id))?.body.value ?? value;
  }

  return async ({ platform, user }) => {
    key ??= sharedKey();
    try {
      return createHmac("sha256", await key)
        .update(`${platform}:${user.id}`)
        .digest("hex");
    } catch (thrown) {
      key = undefined;
      throw thrown;
    }
  };
}

/** Calls `onFound` at most once. While it looks for one caller, the others wait with it. */
function createLateModel(
  look: ((signal: AbortSignal) => Promise<Provider | undefined>) | undefined,
  onFound: (provider: Provider) => void,
): (signal: AbortSignal) => Promise<void> {
  let running: Promise<void> | undefined;
  let isOver = look === undefined;

  async function lookNow(signal: AbortSignal): Promise<void> {
    const found = await look?.(signal);
    if (found === undefined) return;
    isOver = true;
    onFound(found);
  }

  return async (signal) => {
    if (isOver) return;
    running ??= lookNow(signal).finally(() => {
      running = undefined;
    });
    await running;
  };
}

/** Somebody has set up a model, and would take the demo's readiness for the model's. */
function demoAloneCheck(why: string): HealthCheck {
  const what = `no model that the settings name can be used, so only the demo answers, which is no AI (${why})`;
  return {
    name: "model",
    state: "broken",
    what,
    todo: "Correct that. If the demo is meant to answer: REMORA_MODEL=demo",
  };
}

/** A machine whose models are all local needs no network. */
function networkChecks(providers: readonly Provider[], network: Network): HealthCheck[] {
  const isOffline = providers.some(({ address }) => address !== undefined && network.isOffline(address));
  const todo = "Check its network. Until then, local models answer";
  return isOffline ? [{ name: "network", state: "warning", what: noNetwork, todo }] : [];
}

/** A proxy on this machine or in its network leads to services that the machine itself can't reach. */
function firstHopOf({ proxies }: Settings): (address: URL) => URL {
  const proxyFor = createProxyRules(proxies);
  return (address) => {
    const isSecure = address.protocol === "https:";
    const host = address.hostname.replace(/^\[|\]$/g, "");
    const port = Number(address.port || (isSecure ? 443 : 80));
    return proxyFor({ isSecure, host, port })?.url ?? address;
  };
}

/** People in a chat service would take the demo's fixed phrases for answers. */
function refusesDemo({ discord, slack }: Settings, role: Role): boolean {
  return takesTurns(role) && (discord !== null || slack !== null);
}

/** A model without a price must not answer instead of another, because no budget would hold it. */
function pricedFirst(ready: Provider[], hasCost: (model: string) => boolean, log: Log): Provider[] {
  const priced = ready.filter(({ model }) => hasCost(model));
  const others = ready.filter((provider) => !priced.includes(provider)).map(({ model }) => model);
  if (others.length > 0)
    log.warn({ models: others }, "these models have no price, so calls are refused where a budget in dollars applies");
  return priced.length === 0 ? ready : priced;
}
