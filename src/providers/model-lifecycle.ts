/**
 * When models end, as their makers have announced it, and what the makers recommend instead. The dates are those of the
 * makers' own addresses: Bedrock, Google Cloud and other resellers set their own.
 */

export interface ModelEnding {
  /** The day, `YYYY-MM-DD`, from which requests fail. */
  ends: string;
  /** Without the provider's name. Absent if the maker names none, or none was found. */
  instead?: string;
}

export const lifecycleDate = "2026-11-27";

export const lifecycleSources = [
  "https://platform.claude.com/docs/en/about-claude/model-deprecations",
  "https://developers.openai.com/api/docs/deprecations",
] as const;

/** For example `-20251001`, `@20251001` or `-2026-03-05`. */
const dateSuffix = /[-@]\d{4}-?\d{2}-?\d{2}$/;

const hosts: Readonly<Record<string, string>> = { anthropic: "api.anthropic.com", openai: "api.openai.com" };

/** Keys are `provider/model`. */
export const modelEndings: Readonly<Record<string, ModelEnding>> = {
  "anthropic/claude-opus-4": { ends: "2026-06-15", instead: "claude-opus-5-5" },
  "anthropic/claude-sonnet-4": { ends: "2026-06-15", instead: "claude-sonnet-5-5" },
  "anthropic/claude-opus-4-1": { ends: "2026-08-05", instead: "claude-opus-5-5" },
  "anthropic/claude-sonnet-4-5": { ends: "2026-11-30", instead: "claude-sonnet-5-5" },
  "anthropic/claude-opus-4-5": { ends: "2027-01-22", instead: "claude-opus-5-5" },

  ...all("2026-10-23", "gpt-5.6-terra", ["o4-mini", "gpt-3.5-turbo"]),
  ...all("2026-10-23", "gpt-5.6-luna", ["gpt-4.1-nano"]),
  ...all("2026-10-23", "gpt-5.6-sol", ["o1", "o3-mini", "gpt-4", "gpt-4-turbo"]),
  ...all("2026-12-11", "gpt-6.1-sol", ["gpt-5"]),
  ...all("2026-12-11", "gpt-6.1-terra", ["gpt-5-mini"]),
  ...all("2026-12-11", "gpt-6-luna", ["gpt-5-nano"]),
  ...all("2026-12-11", "gpt-5.6-sol", ["o3"]),
  ...all("2027-01-14", "gpt-6-luna", ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini"]),
  ...all("2027-02-26", "gpt-transcribe", ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]),
  ...all("2027-04-01", undefined, ["gpt-5.1", "gpt-5.4-nano"]),
};

function all(ends: string, instead: string | undefined, models: readonly string[]): Record<string, ModelEnding> {
  const ending = { ends, ...(instead === undefined ? {} : { instead }) };
  return Object.fromEntries(models.map((model) => [`openai/${model}`, ending]));
}

/** `model` is `provider/model`, also with a date. Undefined if no end is known. */
export function endingOf(model: string): ModelEnding | undefined {
  for (const name of [model, model.replace(dateSuffix, "")])
    if (Object.hasOwn(modelEndings, name)) return modelEndings[name];
  return undefined;
}

/** The ending of a model that its maker no longer serves. Undefined at any other address. */
export function pastEndingOf(
  { name, model, baseUrl }: { name: string; model: string; baseUrl: string },
  now: number,
): ModelEnding | undefined {
  if (URL.parse(baseUrl)?.host !== hosts[name]) return undefined;
  const ending = endingOf(`${name}/${model}`);
  return ending !== undefined && Date.parse(ending.ends) <= now ? ending : undefined;
}
