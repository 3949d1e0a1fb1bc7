/**
 * Warns before a model in use ends, as its maker has announced it, and names the setting to change. `doctor` also asks the services,
 * because the shipped table grows old.
 */

import { embedderSettings, hasOwnAddress, providerSettings, transcriptionSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { fetchDirectly } from "../lib/fetch-directly.ts";
import type { HealthCheck } from "../ports/health.ts";
import type { Provider } from "../ports/provider.ts";
import { endingOf, type ModelEnding } from "../providers/model-lifecycle.ts";

interface UsedModel {
  /** `provider/model`. */
  model: string;
  setting: string;
}

interface EndingOptions {
  asked?: Iterable<string>;
  /** The day by `provider/model`. */
  announced?: ReadonlyMap<string, string>;
  now?: number;
}

const openAiHost = "api.openai.com";
const dayMs = 24 * 3_600_000;
const noticeDays = 60;

/**
 * `asked` are models that conversations have chosen, and `announced` days that services have said themselves. Otherwise, only
 * models at their makers' own addresses are looked up.
 */
export function endingChecks(
  settings: Settings,
  providers: readonly Pick<Provider, "name" | "model">[],
  { asked = [], announced = new Map(), now = Date.now() }: EndingOptions = {},
): HealthCheck[] {
  const used = new Map<string, string>();
  for (const { name, model } of providers) if (announced.has(model)) used.set(model, settingOf(settings, name, model));
  for (const { model, setting } of usedModels(settings, providers, asked))
    if (!used.has(model)) used.set(model, setting);
  return [...used].flatMap(([model, setting]) => {
    const known = endingOf(model);
    const said = announced.get(model);
    const ending = said === undefined ? known : { ...known, ends: said };
    return ending === undefined ? [] : checkOf(model, setting, ending, now);
  });
}

function* usedModels(
  settings: Settings,
  providers: readonly Pick<Provider, "name" | "model">[],
  asked: Iterable<string>,
): Generator<UsedModel> {
  const isOwn = (model: string) => hasOwnAddress(settings, model.split("/", 1)[0] ?? "");
  const ready = new Set(providers.map(({ name }) => name));
  for (const { name, model } of providers) if (isOwn(model)) yield { model, setting: settingOf(settings, name, model) };
  for (const model of settings.config.models.choices)
    if (isOwn(model) && ready.has(model.split("/", 1)[0] ?? "")) yield { model, setting: "models.choices" };
  for (const model of asked) if (isOwn(model)) yield { model, setting: "/remora model in its conversation" };
  const heard = transcriptionSettings(settings);
  if (heard !== null && URL.parse(heard.baseUrl)?.host === openAiHost)
    yield { model: `openai/${heard.model}`, setting: "transcription.model" };
  const embedder = embedderSettings(settings);
  const embedderHost = URL.parse(embedder?.baseUrl ?? `https://${openAiHost}`)?.host;
  if (embedder?.provider === "openai" && embedderHost === openAiHost)
    yield { model: `openai/${embedder.model}`, setting: "memory.embeddings.model" };
}

function settingOf({ preferredModel }: Settings, name: string, model: string): string {
  return preferredModel === model ? "REMORA_MODEL" : `models.${name}.model`;
}

function checkOf(model: string, setting: string, { ends, instead }: ModelEnding, now: number): HealthCheck[] {
  const days = Math.ceil((Date.parse(ends) - now) / dayMs);
  if (days > noticeDays) return [];
  const when = days > 0 ? `ends on ${ends}, in ${days} ${days === 1 ? "day" : "days"}` : `has ended on ${ends}`;
  const named = (one: string) => (setting === "REMORA_MODEL" ? `${model.split("/", 1)[0]}/${one}` : one);
  const todo = instead === undefined ? `Choose another model: ${setting}` : `Use ${named(instead)} instead: ${setting}`;
  return [{ name: "retirement", state: "warning", what: `${model} ${when}`, todo }];
}

const noKey = "not-needed";

/**
 * The day, `YYYY-MM-DD`, by `provider/model`. A service that does not say it, as most compatible servers do not, leaves its
 * model out. Never rejects.
 */
export async function announcedEndings(
  settings: Settings,
  providers: readonly Pick<Provider, "name" | "model">[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const endings = new Map<string, string>();
  await Promise.all(
    providers.map(async ({ name, model }) => {
      const end = await endOf(settings, name, model.slice(name.length + 1), signal).catch(() => undefined);
      const [day] = /^\d{4}-\d\d-\d\d/.exec(end ?? "") ?? [];
      if (day !== undefined) endings.set(model, day);
    }),
  );
  return endings;
}

async function endOf(
  settings: Settings,
  name: string,
  model: string,
  signal: AbortSignal,
): Promise<string | null | undefined> {
  const { anthropic, openai } = providerSettings(settings);
  const quiet = { maxRetries: 0, logLevel: "off" as const, fetch: fetchDirectly };
  if (name === "anthropic") {
    const { Anthropic } = await import("@anthropic-ai/sdk");
    const place = { apiKey: anthropic.apiKey ?? noKey, authToken: null, ...addressOf(anthropic.baseUrl) };
    return (await new Anthropic({ ...place, ...quiet }).models.retrieve(model, undefined, { signal })).retires_at;
  }
  if (name !== "openai") return undefined;
  const { OpenAI } = await import("openai");
  const place = { apiKey: openai.apiKey ?? noKey, ...addressOf(openai.baseUrl) };
  return (await new OpenAI({ ...place, ...quiet }).models.retrieve(model, { signal })).shutdown_date;
}

/** Null, so that the libraries do not read an address from the environment. */
function addressOf(baseUrl: string | undefined): { baseURL: string | null } {
  return { baseURL: baseUrl ?? null };
}
