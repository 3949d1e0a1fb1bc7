/**
 * What models cost: US dollars per million tokens, at the providers' standard rates (no batch, fast or regional rates).
 * Prices change, so `models.prices` in the configuration overrides every entry. A model that is not listed has no price:
 * for models that only some organizations get (gpt-6-rosalind, gpt-6-cyber, gpt-6.2-astra-law), none is public.
 *
 * `cacheWrite` is the price of Anthropic's five-minute cache and of OpenAI's thirty-minute cache. A prompt of more than
 * `long.above` tokens, cached ones included, costs the prices in `long` for all tokens of the call.
 */
export interface TokenPrices {
  input: number;
  output: number;
  /** Without a price of their own, cached tokens cost as much as input tokens. */
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

export interface Price extends TokenPrices {
  long?: (TokenPrices & { above: number }) | undefined;
}

/** Keys are `provider/model`. */
export type Prices = Readonly<Record<string, Price>>;

export const priceTableDate = "2026-11-27";

export const priceTableSources = [
  "https://platform.claude.com/docs/en/about-claude/pricing",
  "https://developers.openai.com/api/docs/pricing",
] as const;

const free: Price = { input: 0, output: 0 };

/** A cache hit costs a tenth of the input if not said otherwise; a five-minute cache write costs 1.25 times the input. */
function claude(input: number, output: number, cacheRead = input / 10): Price {
  return { input, output, cacheRead: rounded(cacheRead), cacheWrite: rounded(input * 1.25) };
}

function openai(input: number, output: number, cacheRead: number, cacheWrite?: number): Price {
  return { input, output, cacheRead, ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}

/** Above 272,000 tokens, input and cache cost twice as much, and output 1.5 times as much. */
function withLongContext(price: Price): Price {
  const { input, output, cacheRead, cacheWrite } = price;
  const twice = (value: number | undefined) => (value === undefined ? undefined : rounded(value * 2));
  const long = { input: rounded(input * 2), output: rounded(output * 1.5) };
  return {
    ...price,
    long: { above: 272_000, ...long, cacheRead: twice(cacheRead), cacheWrite: twice(cacheWrite) },
  };
}

/** Removes the error of binary fractions, such as 0.30000000000000004. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}

export const shippedPrices: Prices = {
  "anthropic/claude-fable-5-2": claude(8, 40, 0.2),
  "anthropic/claude-fable-5-1": claude(10, 50, 0.25),
  "anthropic/claude-fable-5": claude(10, 50),
  /** Only for organizations in a program of verification, at Fable's prices. */
  "anthropic/claude-mythos-5-2": claude(8, 40, 0.2),
  "anthropic/claude-mythos-5-1": claude(10, 50, 0.25),
  "anthropic/claude-mythos-5": claude(10, 50),
  "anthropic/claude-opus-5-5": claude(4, 20, 0.2),
  "anthropic/claude-opus-5": claude(5, 25),
  "anthropic/claude-opus-4-8": claude(5, 25),
  "anthropic/claude-opus-4-7": claude(5, 25),
  "anthropic/claude-opus-4-6": claude(5, 25),
  "anthropic/claude-opus-4-5": claude(5, 25),
  "anthropic/claude-opus-4-1": claude(15, 75),
  "anthropic/claude-sonnet-5-5": claude(2, 10, 0.1),
  "anthropic/claude-sonnet-5": claude(2, 10),
  "anthropic/claude-sonnet-4-6": claude(3, 15),
  "anthropic/claude-sonnet-4-5": claude(3, 15),
  "anthropic/claude-haiku-5-5": { ...claude(0.1, 0.5), long: { above: 100_000, ...claude(0.5, 2.5) } },
  "anthropic/claude-haiku-4-5": claude(1, 5),

  "openai/gpt-6.2-sol": withLongContext(openai(2, 10, 0.1, 2.5)),
  "openai/gpt-6.2-astra": withLongContext(openai(8, 40, 0.4, 10)),
  "openai/gpt-6.1-sol": withLongContext(openai(2, 10, 0.1, 2.5)),
  "openai/gpt-6.1-terra": withLongContext(openai(1, 5, 0.05, 1.25)),
  "openai/gpt-6-astra": withLongContext(openai(10, 50, 1, 12.5)),
  "openai/gpt-6-sol": withLongContext(openai(2, 10, 0.2, 2.5)),
  "openai/gpt-6-luna": withLongContext(openai(0.1, 0.5, 0.01, 0.125)),
  "openai/gpt-5.6": withLongContext(openai(5, 30, 0.5, 6.25)),
  "openai/gpt-5.6-sol": withLongContext(openai(5, 30, 0.5, 6.25)),
  "openai/gpt-5.6-terra": withLongContext(openai(2, 12, 0.2, 2.5)),
  "openai/gpt-5.6-luna": withLongContext(openai(0.2, 1.2, 0.02, 0.25)),
  "openai/gpt-5.5-pro": { input: 30, output: 180 },
  "openai/gpt-5.5": withLongContext(openai(5, 30, 0.5)),
  "openai/gpt-5.4": withLongContext(openai(2.5, 15, 0.25)),
  "openai/gpt-5.4-mini": openai(0.75, 4.5, 0.075),
  "openai/gpt-5.4-nano": openai(0.2, 1.25, 0.02),
  "openai/gpt-5.2": openai(1.75, 14, 0.175),
  "openai/gpt-5.1": openai(1.25, 10, 0.125),
  "openai/gpt-5": openai(1.25, 10, 0.125),
  "openai/gpt-5-mini": openai(0.25, 2, 0.025),
  "openai/gpt-5-nano": openai(0.05, 0.4, 0.005),
  "openai/gpt-4.1": openai(2, 8, 0.5),
  "openai/gpt-4.1-mini": openai(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": openai(0.1, 0.4, 0.025),
  "openai/gpt-4o": openai(2.5, 10, 1.25),
  "openai/gpt-4o-mini": openai(0.15, 0.6, 0.075),
  "openai/o3": openai(2, 8, 0.5),
  "openai/o4-mini": openai(1.1, 4.4, 0.275),
  "openai/text-embedding-3-small": { input: 0.02, output: 0 },
  "openai/text-embedding-3-large": { input: 0.13, output: 0 },

  /** Runs on your own machine. */
  "ollama/*": free,
  /** Is not an AI. */
  "demo/*": free,
};

/** US dollars per minute of audio. */
export const shippedMinutePrices: Readonly<Record<string, number>> = {
  "openai/gpt-transcribe": 0.0045,
  "openai/gpt-4o-transcribe": 0.006,
  "openai/gpt-4o-mini-transcribe": 0.003,
  "openai/whisper-1": 0.006,
};
