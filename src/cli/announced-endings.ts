/** Asks the services when their models in use end, because the shipped table grows old. */
import { providerSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import type { Provider } from "../ports/provider.ts";

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
  const quiet = { maxRetries: 0, logLevel: "off" as const };
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
