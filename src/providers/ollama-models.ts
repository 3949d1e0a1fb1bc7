/**
 * The models of an Ollama server: which there are, what each can do, and which of them answers if no setting names one.
 * Old versions don't say in the list what a model can do, and very old ones nowhere.
 */
import { fetchDirectly } from "../lib/fetch-directly.ts";
import { isJsonObject } from "../lib/json.ts";

export const defaultOllamaHost = "http://127.0.0.1:11434";

/** For newcomers: uses tools well, and fits, with a long context, into 8 GB. */
export const advisedModel = "qwen3.5:4b";

export interface OllamaModel {
  name: string;
  /** Of the file, in bytes. */
  size: number;
  /** It runs on another server, so messages would leave this machine. */
  isRemote: boolean;
  /** Completion, tools, thinking, vision, embedding. Undefined: the server does not say. */
  capabilities?: readonly string[];
  families: readonly string[];
}

/** Undefined: the server does not say. */
export interface OllamaFacts {
  capabilities: readonly string[] | undefined;
  isRemote: boolean;
  /** In tokens, as the model was trained. */
  contextLength: number | undefined;
  /** In tokens, as its Modelfile says. */
  fileContext: number | undefined;
  /** Memory that each token of context needs, in bytes. */
  tokenBytes: number | undefined;
}

type Fetch = typeof globalThis.fetch;

/** Of servers that don't list what models can do, only so many are asked model by model. */
const maxAsked = 10;
/** The families and names of models that only make vectors. */
const embeddingName = /bert|embed|minilm|\bbge\b|\be5\b/i;
/** What a context can be, in tokens. */
const minContext = 1_024;
const maxContext = 100_000_000;
/** Keys and values are kept as 16-bit numbers, unless the server's settings say otherwise. */
const bytesPerNumber = 2;

/** Completes the value of `OLLAMA_HOST`, which may lack scheme and port, and may be an address to listen on. */
export function ollamaUrlOf(host: string): string {
  const trimmed = host.trim().replace(/\/+$/, "");
  const hasScheme = /^https?:\/\//i.test(trimmed);
  const withHost = trimmed.startsWith(":") ? `127.0.0.1${trimmed}` : trimmed;
  const url = new URL(hasScheme ? trimmed : `http://${withHost}`);
  if (!hasScheme && url.port === "") url.port = "11434";
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return url.href.replace(/\/$/, "");
}

/** Undefined if `host` is no address. */
export function hostnameOf(host: string): string | undefined {
  try {
    return new URL(ollamaUrlOf(host)).hostname;
  } catch {
    return undefined;
  }
}

/** Lists the models, the newest first, or resolves to undefined if Ollama does not answer at `host`. Never rejects. */
export async function probeOllama(
  host: string,
  signal: AbortSignal,
  fetchNow: Fetch = fetchDirectly,
): Promise<OllamaModel[] | undefined> {
  try {
    const response = await fetchNow(`${ollamaUrlOf(host)}/api/tags`, { signal });
    const body: unknown = await response.json();
    if (!response.ok || !isJsonObject(body) || !Array.isArray(body.models)) return undefined;
    return body.models.flatMap((model: unknown) => listed(model) ?? []);
  } catch {
    return undefined;
  }
}

function listed(model: unknown): OllamaModel | undefined {
  // People read the name in chat, and no model of Ollama has blanks or control characters in it.
  if (!isJsonObject(model) || typeof model.name !== "string" || !/^[\w.:/@-]+$/.test(model.name)) return undefined;
  const details = isJsonObject(model.details) ? model.details : {};
  return {
    name: model.name,
    size: Number(model.size) || 0,
    isRemote: isRemote(model),
    families: texts([details.family, ...(Array.isArray(details.families) ? details.families : [])]),
    ...(Array.isArray(model.capabilities) ? { capabilities: texts(model.capabilities) } : {}),
  };
}

/** Resolves to undefined if the server can't describe the model. Never rejects. */
export async function describeOllamaModel(
  host: string,
  model: string,
  signal: AbortSignal,
  fetchNow: Fetch = fetchDirectly,
): Promise<OllamaFacts | undefined> {
  try {
    const response = await fetchNow(`${ollamaUrlOf(host)}/api/show`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model }),
      signal,
    });
    const body: unknown = await response.json();
    return response.ok && isJsonObject(body) ? factsIn(body) : undefined;
  } catch {
    return undefined;
  }
}

function factsIn(body: Record<string, unknown>): OllamaFacts {
  const info = isJsonObject(body.model_info) ? body.model_info : {};
  const of = (key: string) => positive(info[`${info["general.architecture"]}.${key}`]);
  const fileContext = /^num_ctx\s+(\d+)/m.exec(typeof body.parameters === "string" ? body.parameters : "")?.[1];
  return {
    isRemote: isRemote(body),
    contextLength: tokensIn(of("context_length")),
    tokenBytes: tokenBytesOf(of),
    fileContext: tokensIn(Number(fileContext)),
    capabilities: Array.isArray(body.capabilities) ? texts(body.capabilities) : undefined,
  };
}

/**
 * Keys and values of all layers. Undefined for models that keep less for most layers in ways that the server does not
 * describe: these need little anyway.
 */
function tokenBytesOf(of: (key: string) => number | undefined): number | undefined {
  if (of("attention.sliding_window") !== undefined || of("attention.kv_lora_rank") !== undefined) return undefined;
  const [layers, heads, allHeads] = [of("block_count"), of("attention.head_count_kv"), of("attention.head_count")];
  const width = (of("embedding_length") ?? Number.NaN) / (allHeads ?? Number.NaN);
  const numbers = (of("attention.key_length") ?? width) + (of("attention.value_length") ?? width);
  if (layers === undefined || heads === undefined || !(numbers > 0)) return undefined;
  return Math.ceil(layers / (of("full_attention_interval") ?? 1)) * heads * numbers * bytesPerNumber;
}

/** Without the models that can't chat. Those that can use tools come first; otherwise, the newest. */
export function chatModels(models: readonly OllamaModel[]): OllamaModel[] {
  const able = models.filter(canChat);
  return [...able.filter(canUseTools), ...able.filter((model) => !canUseTools(model))];
}

export interface ChosenModel {
  name: string;
  /** Undefined: the server does not say. */
  usesTools: boolean | undefined;
}

/** The newest model that can use tools, or else that can chat. Never one that runs elsewhere, unless a setting names it. */
export async function chooseOllamaModel(
  host: string,
  models: readonly OllamaModel[],
  signal: AbortSignal,
): Promise<ChosenModel | undefined> {
  const local = models.filter((model) => !model.isRemote);
  const described = await Promise.all(
    local.map(async (model, index): Promise<OllamaModel> => {
      if (model.capabilities !== undefined || index >= maxAsked) return model;
      const facts = await describeOllamaModel(host, model.name, signal);
      return facts?.capabilities === undefined ? model : { ...model, capabilities: facts.capabilities };
    }),
  );
  const [first] = chatModels(described);
  return first && { name: first.name, usesTools: first.capabilities?.includes("tools") };
}

function canChat({ name, families, capabilities }: OllamaModel): boolean {
  return capabilities?.includes("completion") ?? ![name, ...families].some((text) => embeddingName.test(text));
}

function canUseTools({ capabilities }: OllamaModel): boolean {
  return capabilities?.includes("tools") ?? false;
}

function isRemote(model: Record<string, unknown>): boolean {
  return [model.remote_host, model.remote_model].some((value) => typeof value === "string" && value !== "");
}

/** Undefined for what can be no context: a server's mistake must not leave a model without a prompt. */
function tokensIn(value: number | undefined): number | undefined {
  return Number.isInteger(value) && value !== undefined && value >= minContext && value <= maxContext
    ? value
    : undefined;
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

function texts(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}
