/** Selects the usable providers in order. The demo model counts only if settings name it or no other is ready. */
import { RemoraError } from "../lib/errors.ts";
import type { Provider } from "../ports/provider.ts";
import { createAnthropicProvider } from "./anthropic.ts";
import { shownUrl } from "./classify-failure.ts";
import { createDemoProvider } from "./demo.ts";
import type { Timeouts } from "./guarded-stream.ts";
import { createOllamaProvider, defaultOllamaHost, ollamaUrlOf, probeOllama } from "./ollama.ts";
import { createOpenAiProvider } from "./openai.ts";
import type { OpenAiOptions } from "./openai-client.ts";

export interface ProviderSettings {
  /** The preferred one first. Unknown names are reported. */
  order: string[];
  anthropic: { apiKey?: string; baseUrl?: string; model: string };
  openai: { apiKey?: string } & Pick<OpenAiOptions, "baseUrl" | "model" | "api" | "effort">;
  ollama: { host?: string; model?: string };
  /** The key at this moment. By default, keys do not change. */
  keyOf?(name: "anthropic" | "openai"): string | undefined;
  preferred?: string;
  timeouts: Timeouts;
  /** Rejects if only the demo model is left and the settings do not name it alone. */
  refusesDemo?: boolean;
}

export interface ProviderStatus {
  name: string;
  /** `provider/model`, or only the provider's name if no model is known. */
  model: string;
  isReady: boolean;
  hint: string;
}

export interface SelectedProviders {
  providers: Provider[];
  statuses: ProviderStatus[];
}

interface ProbedProvider {
  status: ProviderStatus;
  provider?: Provider;
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
  statuses.push(demoStatus(demo, providers.includes(demo), isDemoWanted));
  return { providers, statuses };
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
  const wanted = preferred?.name === name && preferred.model !== "" ? { model: preferred.model } : {};
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

function anthropicCandidate(
  options: ProviderSettings["anthropic"],
  { timeouts, keyOf }: ProviderSettings,
): ProbedProvider {
  const model = `anthropic/${options.model}`;
  const problem = problemOf(options, "ANTHROPIC");
  if (problem !== undefined) return { status: { name: "anthropic", model, isReady: false, hint: problem } };
  const provider = createAnthropicProvider({
    ...{ ...options, timeouts },
    apiKey: () => keyOf?.("anthropic") ?? options.apiKey ?? "not-needed",
  });
  return { provider, status: { name: "anthropic", model, isReady: true, hint: whereOf(options.baseUrl) } };
}

function openAiCandidate(options: ProviderSettings["openai"], { timeouts, keyOf }: ProviderSettings): ProbedProvider {
  const model = `openai/${options.model}`;
  const problem = problemOf(options, "OPENAI");
  if (problem !== undefined) return { status: { name: "openai", model, isReady: false, hint: problem } };
  const provider = createOpenAiProvider({ ...options, timeouts, apiKey: () => keyOf?.("openai") ?? options.apiKey });
  return { provider, status: { name: "openai", model, isReady: true, hint: whereOf(options.baseUrl) } };
}

/** Returns what is missing. Requires a key only for the default address, because other servers may need none. */
function problemOf(options: { apiKey?: string; baseUrl?: string }, prefix: string): string | undefined {
  if (options.baseUrl !== undefined && !isWebAddress(options.baseUrl))
    return `${prefix}_BASE_URL is not an http(s) address: ${shownUrl(options.baseUrl)}`;
  const foreign = options.baseUrl === undefined ? undefined : foreignProtocol(options.baseUrl, prefix);
  if (foreign !== undefined) return foreign;
  return options.apiKey === undefined && options.baseUrl === undefined ? `set ${prefix}_API_KEY` : undefined;
}

/** Amazon's and Google's own protocols are not spoken. Other addresses of the same services have ours. */
function foreignProtocol(baseUrl: string, prefix: string): string | undefined {
  const { hostname, origin, pathname } = new URL(baseUrl);
  const isAnthropic = prefix === "ANTHROPIC";
  const see = "see docs/models.md";
  if (/^bedrock-runtime(?:-fips)?\..*\.amazonaws\.com/.test(hostname)) {
    const path = isAnthropic ? "/anthropic" : "/openai/v1";
    if (pathname.startsWith(path)) return undefined;
    return `${prefix}_BASE_URL leads to Bedrock's own protocol, which is not spoken; set it to ${origin}${path} (${see})`;
  }
  if (!/(?:^|[.-])aiplatform\.googleapis\.com$/.test(hostname)) return undefined;
  if (isAnthropic)
    return `${prefix}_BASE_URL leads to Vertex, whose protocol for Claude is not spoken; use a gateway (${see})`;
  if (/\/endpoints\/[^/]+\/?$/.test(pathname)) return undefined;
  return `${prefix}_BASE_URL leads to Vertex's own protocol, which is not spoken; its path ends with /endpoints/openapi (${see})`;
}

function whereOf(baseUrl: string | undefined): string {
  return baseUrl === undefined ? "ready" : `ready, at ${shownUrl(baseUrl)}`;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

async function ollamaCandidate(
  options: ProviderSettings["ollama"],
  timeouts: Timeouts,
  signal: AbortSignal,
): Promise<ProbedProvider> {
  const host = options.host ?? defaultOllamaHost;
  const models = await probeOllama(host, AbortSignal.any([signal, AbortSignal.timeout(probeMs)]));
  const model = options.model ?? models?.[0];
  const status = { name: "ollama", model: model === undefined ? "ollama" : `ollama/${model}` };
  // A configured host may start later, but then only the settings can name the model.
  const isUsable = models !== undefined || (options.host !== undefined && isAddress(host));
  if (model === undefined || !isUsable) return { status: { ...status, isReady: false, hint: missing(host, models) } };
  const provider = createOllamaProvider({ host, model, timeouts });
  return { provider, status: { ...status, ...ollamaReadiness(host, model, models) } };
}

function ollamaReadiness(address: string, model: string, models: string[] | undefined) {
  const host = shownUrl(address);
  if (models === undefined)
    return { isReady: false, hint: `no answer at ${host} yet; Remora will try again when it needs it` };
  const isThere = models.some((name) => name === model || name === `${model}:latest`);
  return isThere
    ? { isReady: true, hint: `ready, at ${host}` }
    : { isReady: false, hint: `${host} has no model ${model}; run: ollama pull ${model}` };
}

function missing(address: string, models: string[] | undefined): string {
  const host = shownUrl(address);
  if (!isAddress(address)) return `OLLAMA_HOST is not a valid address: ${host}`;
  return models === undefined
    ? `no answer at ${host}; start Ollama, or set OLLAMA_HOST`
    : `${host} has no models; run: ollama pull llama3.2`;
}

function isAddress(host: string): boolean {
  try {
    return ollamaUrlOf(host) !== "";
  } catch {
    return false;
  }
}

function demoStatus(demo: Provider, isUsed: boolean, isWanted: boolean): ProviderStatus {
  const hint = isWanted
    ? "in use because the settings name it: no AI, a few fixed phrases"
    : isUsed
      ? "in use because no other model is ready: no AI, a few fixed phrases"
      : "not used while another model is ready";
  return { name: demo.name, model: demo.model, isReady: isUsed, hint };
}
