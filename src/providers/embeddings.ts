/** Embeddings from an OpenAI-compatible or an Ollama endpoint, through their client libraries. */

import { RemoraError } from "../lib/errors.ts";
import { shownUrl } from "../lib/fetch-directly.ts";
import { isJsonObject } from "../lib/json.ts";
import type { Embedder } from "../ports/embeddings.ts";
import { createCheckedFetch } from "./checked-fetch.ts";
import { thrownFailure } from "./classify-failure.ts";
import { embeddingPrefix } from "./embedding-prefixes.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { defaultOllamaHost, ollamaUrlOf } from "./ollama-models.ts";
import { openAiUrl } from "./openai-client.ts";
import { cleanUsage, tokensIn } from "./reported-usage.ts";

export interface EmbedderOptions {
  provider: "openai" | "ollama";
  model: string;
  /** Defaults to OpenAI's address, or to Ollama's on this machine. */
  baseUrl?: string;
  /** Absent if the server needs no key. */
  apiKey?: string;
  /** Defaults to the model's own number. */
  dimensions?: number;
}

const maxDimensions = 16_384;
const noUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function createEmbedder(options: EmbedderOptions): Embedder {
  const { provider, model, dimensions } = options;
  const place = placeOf(options);
  const request = provider === "openai" ? requestOpenAi : requestOllama;
  return {
    model: `${provider}/${model}${dimensions === undefined ? "" : `/${dimensions}`}`,
    address: shownUrl(place.baseUrl),
    ...(provider === "openai"
      ? { pricedModel: `${place.baseUrl === openAiUrl ? "openai" : "embeddings"}/${model}` }
      : {}),
    async embed(texts, use, signal, onTokens) {
      const checked = createCheckedFetch(place, signal, () => {}, "json");
      const input = texts.map((text) => embeddingPrefix(model, use) + text.toWellFormed());
      let answer: unknown;
      try {
        answer = await request(input, options, place, checked.fetch, onTokens);
      } catch (thrown) {
        signal.throwIfAborted();
        throw thrownFailure(place, checked.thrown() ?? thrown);
      }
      return vectorsIn(answer, texts.length, options, place);
    },
  };
}

function placeOf({ provider, model, baseUrl, apiKey = "" }: EmbedderOptions): ProviderPlace {
  const settings = {
    keySetting: "memory.embeddings.apiKey",
    urlSetting: "memory.embeddings.baseUrl",
    modelSetting: "memory.embeddings.model",
  };
  const url = provider === "openai" ? (baseUrl ?? openAiUrl) : ollamaUrlOf(baseUrl ?? defaultOllamaHost);
  return { name: provider, model, baseUrl: url, ...settings, secrets: [apiKey] };
}

type Fetch = typeof globalThis.fetch;

async function requestOpenAi(
  input: string[],
  { model, apiKey, dimensions }: EmbedderOptions,
  { baseUrl }: ProviderPlace,
  fetch: Fetch,
  onTokens?: (tokens: number) => void,
): Promise<unknown> {
  const { OpenAI } = await import("openai");
  // The SDK requires a key even if the server does not.
  const key = apiKey ?? "not-needed";
  const client = new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0, fetch, logLevel: "off" });
  const { data, usage }: { data?: unknown; usage?: unknown } = await client.embeddings.create({
    ...{ model, input },
    // The SDK's default is base64, which not every compatible server supports.
    encoding_format: "float",
    ...(dimensions === undefined ? {} : { dimensions }),
  });
  const tokens = isJsonObject(usage) ? cleanUsage({ ...noUsage, inputTokens: tokensIn(usage.prompt_tokens) }) : noUsage;
  if (tokens.inputTokens > 0) onTokens?.(tokens.inputTokens);
  if (!Array.isArray(data)) return undefined;
  const placed = data.map((one: unknown, position) => {
    const { index = position, embedding = undefined } = isJsonObject(one) ? one : {};
    return { index: Number(index), embedding };
  });
  return placed.sort((one, other) => one.index - other.index).map(({ embedding }) => embedding);
}

async function requestOllama(
  input: string[],
  { model, dimensions }: EmbedderOptions,
  { baseUrl }: ProviderPlace,
  fetch: Fetch,
): Promise<unknown> {
  const { Ollama } = await import("ollama");
  const client = new Ollama({ host: baseUrl, fetch });
  const { embeddings } = await client.embed({
    ...{ model, input, truncate: true },
    ...(dimensions === undefined ? {} : { dimensions }),
  });
  return embeddings;
}

function vectorsIn(answer: unknown, count: number, options: EmbedderOptions, place: ProviderPlace): Float32Array[] {
  const fail = (said: string) => {
    const advice = `check ${place.modelSetting} and ${place.urlSetting}`;
    return new RemoraError({
      code: "embeddings.bad-vectors",
      place: `provider ${place.name}`,
      message: `${place.model} at ${shownUrl(place.baseUrl)} ${said}; ${advice}`,
    });
  };
  if (!Array.isArray(answer) || answer.length !== count)
    throw fail(`gave ${Array.isArray(answer) ? answer.length : "no"} vectors for ${count} texts`);
  const length = options.dimensions ?? (Array.isArray(answer[0]) ? answer[0].length : 0);
  return answer.map((numbers: unknown) => {
    if (!Array.isArray(numbers) || numbers.length === 0) throw fail("gave something else than a vector");
    if (numbers.length > maxDimensions)
      throw fail(`gave a vector of ${numbers.length} numbers, more than ${maxDimensions}`);
    if (numbers.length !== length) throw fail(`gave a vector of ${numbers.length} numbers instead of ${length}`);
    if (!numbers.every(Number.isFinite)) throw fail("gave a vector that does not consist of numbers");
    if (numbers.every((number) => number === 0)) throw fail("gave a vector of zeros");
    return Float32Array.from(numbers);
  });
}
