/** Selects the usable providers in order. The demo model counts only if settings name it or no other is ready. */

import { RemoraError } from "../lib/errors.ts";
import { shownUrl } from "../lib/fetch-directly.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { CachePrice, Provider } from "../ports/provider.ts";
import { addressProblem } from "./address-problem.ts";
import { createAnthropicProvider, isClaudesOwn } from "./anthropic.ts";
import { type Effort, knowsEffort } from "./anthropic-parameters.ts";
import { createDemoProvider } from "./demo.ts";
import type { SettingNames } from "./failure-kinds.ts";
import { createOllamaProvider, type OllamaOptions } from "./ollama.ts";
import { type ContextWishes, createOllamaContexts } from "./ollama-context.ts";
import {
  advisedModel,
  type ChosenModel,
  chooseOllamaModel,
  defaultOllamaHost,
  hostnameOf,
  type OllamaModel,
  probeOllama,
} from "./ollama-models.ts";
import { createOpenAiProvider } from "./openai.ts";
import type { OpenAiOptions } from "./openai-client.ts";
import type { Timeouts } from "./patience.ts";
import { queued, slotsAt, usualConcurrency } from "./server-queue.ts";

export interface ProviderSettings {
  /** The preferred one first. Unknown names are reported. */
  order: string[];
  anthropic: { apiKey?: string; baseUrl?: string; model: string; effort?: Effort } & Concurrency & SettingNames;
  openai: { apiKey?: string } & Pick<OpenAiOptions, "baseUrl" | "model" | "api" | "effort"> &
    Concurrency &
    SettingNames;
  ollama: Pick<OllamaOptions, "host" | "think" | "keepAlive"> & {
    model?: string;
    context: ContextWishes;
  } & Concurrency &
    SettingNames;
  /** The key at this moment. By default, keys do not change. */
  keyOf?(name: "anthropic" | "openai"): string | undefined;
  preferred?: string;
  timeouts: Timeouts;
  /** By default, nobody knows what is cheaper, and prompts are kept for five minutes. */
  cachePriceOf?(model: string): CachePrice | undefined;
  /** Rejects if only the demo model is left and the settings do not name it alone. */
  refusesDemo?: boolean;
}

/** The most requests at once. Absent: by the address. */
interface Concurrency {
  concurrency?: number;
}

export interface ProviderStatus {
  name: string;
  /** `provider/model`, or only the provider's name if no model is known. */
  model: string;
  isReady: boolean;
  hint: string;
  /** Why this model, if no setting names it. */
  reason?: string;
  /** What makes a ready model worse than it could be, as far as is known by now. */
  warning?(): Pick<HealthCheck, "what" | "why" | "todo"> | undefined;
}

export interface SelectedProviders {
  providers: Provider[];
  statuses: ProviderStatus[];
  /** Why the demo answers although the settings name a model service. Empty if it does not, or they name none. */
  demoInstead: string;
  /** Only if the demo answers because nothing else is ready: looks whether Ollama, which had no model, has one by now. */
  lookAgain?(signal: AbortSignal): Promise<Provider | undefined>;
}

interface ProbedProvider {
  status: ProviderStatus;
  provider?: Provider;
}

/** For health: what makes ready models worse than they could be. */
export function warningsOf(statuses: readonly ProviderStatus[]): HealthCheck[] {
  return statuses.flatMap((status): HealthCheck[] => {
    const warning = status.warning?.();
    return warning === undefined ? [] : [{ name: `${status.name} settings`, state: "warning", ...warning }];
  });
}

/** Short, because Ollama runs on this machine or in its network and answers fast. */
const probeMs = 700;

export async function createProviders(settings: ProviderSettings, signal: AbortSignal): Promise<SelectedProviders> {
  const preferred = preferredOf(settings);
  const names = [...new Set([...(preferred === undefined ? [] : [preferred.name]), ...settings.order])];
  const candidates = await Promise.all(
    names.filter((name) => name !== "demo").map((name) => candidateOf(name, settings, preferred, signal)),
  );
  const providers = candidates.flatMap(({ provider }) => provider ?? []);
  const statuses = candidates.map(({ status }) => status);
  const demo = createDemoProvider();
  const isDemoWanted = preferred?.name === "demo" || settings.order.every((name) => name === "demo");
  if (isDemoWanted) providers.unshift(demo);
  else if (settings.refusesDemo === true) {
    if (providers.length === 0) throw noModel(statuses);
  } else if (!statuses.some((status) => status.isReady)) providers.push(demo);
  const isInstead = !isDemoWanted && providers.includes(demo) && namesService(settings);
  const demoInstead = isInstead ? reasonsOf(statuses, settings) : "";
  const ofDemo = demoStatus(demo, providers.includes(demo), isDemoWanted);
  statuses.push(ofDemo);
  const late = candidates.find(({ status, provider }) => status.name === "ollama" && provider === undefined);
  if (late === undefined || isDemoWanted || !ofDemo.isReady) return { providers, statuses, demoInstead };
  return {
    ...{ providers, statuses, demoInstead },
    async lookAgain(within) {
      const { status, provider } = await candidateOf("ollama", settings, preferred, within);
      Object.assign(late.status, status);
      if (!status.isReady) return undefined;
      Object.assign(ofDemo, demoStatus(demo, false, false));
      return provider;
    },
  };
}

/** False for a fresh installation, whose demo is no mistake. */
function namesService(settings: ProviderSettings): boolean {
  const isNamed = settings.preferred !== undefined || !settings.order.includes("demo");
  return isNamed || settings.order.some((name) => isSetUp(name, settings));
}

function isSetUp(name: string, { anthropic, openai, ollama, preferred }: ProviderSettings): boolean {
  const given: Record<string, (string | undefined)[]> = {
    anthropic: [anthropic.apiKey, anthropic.baseUrl],
    openai: [openai.apiKey, openai.baseUrl],
    ollama: [ollama.host, ollama.model],
  };
  return preferred?.split("/", 1)[0] === name || (given[name] ?? []).some((value) => value !== undefined);
}

/** Those that nobody has set up are no reason, unless nobody has set up any. */
function reasonsOf(statuses: readonly ProviderStatus[], settings: ProviderSettings): string {
  const setUp = statuses.filter(({ name }) => isSetUp(name, settings));
  return (setUp.length === 0 ? statuses : setUp).map(({ model, hint }) => `${model}: ${hint}`).join("; ");
}

function noModel(statuses: readonly ProviderStatus[]): RemoraError {
  const lacking = statuses.map(({ name, hint }) => `${name}: ${hint}`).join("; ");
  return new RemoraError({
    code: "start.no-model",
    place: "models",
    message: `no model is set up (${lacking}), and on Discord and Slack the demo model does not answer. Set one up, or name the demo model yourself: REMORA_MODEL=demo`,
  });
}

function preferredOf({ preferred }: ProviderSettings): { name: string; model: string } | undefined {
  if (preferred === undefined || preferred === "") return undefined;
  const slash = preferred.indexOf("/");
  return slash === -1
    ? { name: preferred, model: "" }
    : { name: preferred.slice(0, slash), model: preferred.slice(slash + 1) };
}

async function candidateOf(
  name: string,
  settings: ProviderSettings,
  preferred: { name: string; model: string } | undefined,
  signal: AbortSignal,
): Promise<ProbedProvider> {
  const isWanted = preferred?.name === name && preferred.model !== "";
  const wanted = isWanted ? { model: preferred.model, modelSetting: "REMORA_MODEL" } : {};
  const { timeouts } = settings;
  switch (name) {
    case "anthropic":
      return anthropicCandidate({ ...settings.anthropic, ...wanted }, settings);
    case "openai":
      return openAiCandidate({ ...settings.openai, ...wanted }, settings);
    case "ollama":
      return await ollamaCandidate({ ...settings.ollama, ...wanted }, timeouts, signal);
    default: {
      const hint = `there is no provider "${name}"; models.order and REMORA_MODEL accept anthropic, openai, ollama and demo`;
      return { status: { name, model: name, isReady: false, hint } };
    }
  }
}

/** What the provider sends to its server waits here for its turn. */
function limited(provider: Provider, { concurrency }: Concurrency): Provider {
  if (concurrency !== null && concurrency !== undefined) return queued(provider, concurrency);
  const { name, address } = provider;
  return queued(provider, usualConcurrency(name, address), () => slotsAt(name, address));
}

function anthropicCandidate(
  options: ProviderSettings["anthropic"],
  { timeouts, keyOf, cachePriceOf = () => undefined }: ProviderSettings,
): ProbedProvider {
  const model = `anthropic/${options.model}`;
  const problem = problemOf(options, "anthropic");
  if (problem !== undefined) return { status: { name: "anthropic", model, isReady: false, hint: problem } };
  // Chat needs less than what most Claude models use by themselves.
  const usual =
    isClaudesOwn(options.baseUrl) && knowsEffort(options.model) === true ? { effort: "medium" as const } : {};
  const provider = createAnthropicProvider({
    ...{ ...usual, ...options, timeouts, cachePriceOf },
    apiKey: () => keyOf?.("anthropic") ?? options.apiKey ?? "not-needed",
  });
  const status = { name: "anthropic", model, isReady: true, hint: whereOf(options.baseUrl) };
  if (options.effort === undefined || knowsEffort(options.model) !== false)
    return { provider: limited(provider, options), status };
  const what = `${options.model} has no effort, so models.anthropic.effort does nothing`;
  const warning = () => ({ what, todo: "Remove it, or choose another model" });
  return { provider: limited(provider, options), status: { ...status, warning } };
}

function openAiCandidate(options: ProviderSettings["openai"], { timeouts, keyOf }: ProviderSettings): ProbedProvider {
  const model = `openai/${options.model}`;
  const problem = problemOf(options, "openai");
  if (problem !== undefined) return { status: { name: "openai", model, isReady: false, hint: problem } };
  const provider = createOpenAiProvider({ ...options, timeouts, apiKey: () => keyOf?.("openai") ?? options.apiKey });
  const status = { name: "openai", model, isReady: true, hint: whereOf(options.baseUrl) };
  return { provider: limited(provider, options), status };
}

/** Returns what is missing. Requires a key only for the default address, because other servers may need none. */
function problemOf(
  { apiKey, baseUrl, urlSetting }: Pick<ProviderSettings["openai"], "apiKey" | "baseUrl" | "urlSetting">,
  protocol: "anthropic" | "openai",
): string | undefined {
  const prefix = protocol.toUpperCase();
  if (baseUrl !== undefined) return addressProblem(baseUrl, protocol, urlSetting ?? `${prefix}_BASE_URL`);
  return apiKey === undefined ? `set ${prefix}_API_KEY` : undefined;
}

function whereOf(baseUrl: string | undefined): string {
  return baseUrl === undefined ? "ready" : `ready, at ${shownUrl(baseUrl)}`;
}

async function ollamaCandidate(
  { context, ...options }: ProviderSettings["ollama"],
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<ProbedProvider> {
  const host = options.host ?? defaultOllamaHost;
  const within = AbortSignal.any([signal, AbortSignal.timeout(probeMs)]);
  const models = await probeOllama(host, within);
  const chosen = options.model === undefined ? await chooseOllamaModel(host, models ?? [], within) : undefined;
  const model = options.model ?? chosen?.name;
  const status = { name: "ollama", model: model === undefined ? "ollama" : `ollama/${model}` };
  // A configured host may start later, but then only the settings can name the model.
  const isUsable = models !== undefined || (options.host !== undefined && hostnameOf(host) !== undefined);
  if (model === undefined || !isUsable)
    return { status: { ...status, isReady: false, hint: missing(options, models) } };
  const contexts = createOllamaContexts(host, context);
  const provider = limited(createOllamaProvider({ ...options, host, model, timeouts, context: contexts }), options);
  const readiness = ollamaReadiness(host, { model, ...options }, models);
  if (!readiness.isReady) return { provider, status: { ...status, ...readiness } };
  const { facts } = await contexts.of(model, within);
  const reason = chosen && reasonOf(chosen);
  const hint = [readiness.hint, ...(reason === undefined ? [] : [reason])].join(": ");
  const cannot = facts?.capabilities?.includes("tools") === false ? toolless(model, options) : undefined;
  const warning = () => cannot ?? contexts.problemOf(model);
  return { provider, status: { ...status, isReady: true, hint, warning, ...(reason === undefined ? {} : { reason }) } };
}

function toolless(model: string, { modelSetting = "models.ollama.model" }: SettingNames) {
  const todo = `Get one that can: ollama pull ${advisedModel}, and name it in ${modelSetting}`;
  return { what: `ollama/${model} can't use tools, so each request with tools is refused`, todo };
}

function reasonOf({ usesTools }: ChosenModel): string {
  const what = usesTools === true ? "can use tools" : "can chat";
  return `the newest there that ${what} (models.ollama.model chooses another)`;
}

function ollamaReadiness(
  address: string,
  { model, modelSetting = "models.ollama.model" }: { model: string } & SettingNames,
  models: readonly OllamaModel[] | undefined,
) {
  const host = shownUrl(address);
  if (models === undefined)
    return { isReady: false, hint: `no answer at ${host} yet; Remora will try again when it needs it` };
  const isThere = models.some(({ name }) => name === model || name === `${model}:latest`);
  return isThere
    ? { isReady: true, hint: `ready, at ${host}` }
    : { isReady: false, hint: `${host} has no model ${model}; run: ollama pull ${model} (or change ${modelSetting})` };
}

function missing(
  { host: address = defaultOllamaHost, urlSetting = "OLLAMA_HOST" }: { host?: string } & SettingNames,
  models: readonly OllamaModel[] | undefined,
): string {
  const host = shownUrl(address);
  if (hostnameOf(address) === undefined) return `${urlSetting} is not a valid address: ${host}`;
  if (models === undefined) return `no answer at ${host}; start Ollama, or set ${urlSetting}`;
  const none = models.length === 0 ? "no models" : "no model of its own that can chat";
  return `${host} has ${none}; run: ollama pull ${advisedModel}`;
}

function demoStatus(demo: Provider, isUsed: boolean, isWanted: boolean): ProviderStatus {
  const hint = isWanted
    ? "in use because the settings name it: no AI, a few fixed phrases"
    : isUsed
      ? "in use because no other model is ready: no AI, a few fixed phrases"
      : "not used while another model is ready";
  return { name: demo.name, model: demo.model, isReady: isUsed, hint };
}
