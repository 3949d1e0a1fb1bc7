/** Writes the chosen model: its key and address to `.env`, its name and place in the order to the configuration. */
import { type ModelChoice, type ProviderName, type Setup, saveVariables, variable } from "./services.ts";

const defaultOrder = ["anthropic", "openai", "ollama", "demo"];

export const modelLabels: Record<ProviderName, string> = {
  anthropic: "Anthropic (Claude)",
  openai: "OpenAI",
  ollama: "Ollama",
  compatible: "Another OpenAI-compatible server",
};

/** The configuration's section. A compatible server is reached as OpenAI, at another address. */
function sectionOf(provider: ProviderName): "anthropic" | "openai" | "ollama" {
  return provider === "compatible" ? "openai" : provider;
}

export function modelInForce({ config, services }: Setup, provider: "anthropic" | "openai"): string {
  const set = config.get(["models", provider, "model"]);
  return typeof set === "string" ? set : services.defaultModels[provider];
}

export async function saveModel(
  setup: Setup,
  { provider, model, key, url }: ModelChoice,
  { milliseconds }: { milliseconds: number },
): Promise<void> {
  const { ask, config, services } = setup;
  const section = sectionOf(provider);
  const changes: [string[], unknown][] = [];
  const present = section === "ollama" ? config.get(["models", "ollama", "model"]) : modelInForce(setup, section);
  if (present !== model) changes.push([["models", section, "model"], model]);
  const order = config.get(["models", "order"]);
  const names = Array.isArray(order) ? order.map(String) : defaultOrder;
  if (names[0] !== section)
    changes.push([
      ["models", "order"],
      [section, ...names.filter((name) => name !== section)],
    ]);
  if (provider === "ollama") await saveVariables(setup, { OLLAMA_HOST: url });
  else if (provider === "anthropic") await saveVariables(setup, { ANTHROPIC_API_KEY: key });
  else {
    if (key === undefined && variable(setup, "OPENAI_API_KEY") !== undefined)
      ask.warn(`OPENAI_API_KEY was removed from ${setup.envFile.path}, so that this server does not get it.`);
    await saveVariables(setup, { OPENAI_API_KEY: key, OPENAI_BASE_URL: url });
  }
  await config.set(changes);
  const name = model === services.defaultModels[provider] ? model : `${modelLabels[provider]}: ${model}`;
  ask.done(`${name} answered in ${(milliseconds / 1000).toFixed(1)} s.`);
}
