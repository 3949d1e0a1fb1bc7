/**
 * How long a model may take. A known service that says nothing for a minute is broken. Any other server may load its model first,
 * and may read a long prompt without a GPU. To give it up throws its reading away, and to ask again begins the same work anew, so it
 * gets the time that a slow one needs.
 */
import type { ModelRequest } from "../ports/provider.ts";

export interface Timeouts {
  /** Until the request is sent. */
  connectMs: number;
  /** From sending the request to the model's first output. Null: by the server and the length of the prompt. */
  firstTokenMs: number | null;
  /** Between two outputs. Five times as long while the model thinks, because services are silent then. Null: by the server. */
  idleMs: number | null;
}

export const defaultTimeouts: Timeouts = { connectMs: 10_000, firstTokenMs: null, idleMs: null };

export interface Limits {
  connectMs: number;
  firstTokenMs: number;
  idleMs: number;
  /** Also after a sign that the model has begun, without any output so far. */
  thinkingMs: number;
  /** The server may only be slow, so the same request must not be sent to it twice. */
  isPatient: boolean;
}

const thinkingFactor = 5;
const usualMs = 60_000;
/** As long as Ollama lets a model load by itself. */
const patientMs = 300_000;
/** Half as fast as a model of 1.5 billion parameters on two cores. */
const readingMsPerToken = 50;
const charactersPerToken = 4;

type Prompt = Partial<Pick<ModelRequest, "system" | "messages" | "tools">>;

export function limitsOf(timeouts: Timeouts, baseUrl: string, prompt: Prompt): Limits {
  const isPatient = !isKnownService(baseUrl);
  const firstTokenMs = timeouts.firstTokenMs ?? (isPatient ? patientMs + readingMs(prompt) : usualMs);
  const idleMs = timeouts.idleMs ?? (isPatient ? patientMs : usualMs);
  const thinkingMs = timeouts.idleMs === null ? usualMs * thinkingFactor : idleMs * thinkingFactor;
  // A sign of life must not shorten the time that nobody has set.
  const leastMs = timeouts.firstTokenMs === null ? firstTokenMs : 0;
  return { connectMs: timeouts.connectMs, firstTokenMs, idleMs, thinkingMs: Math.max(thinkingMs, leastMs), isPatient };
}

/** How long a slow model reads a prompt. Pictures don't count by their bytes. */
function readingMs({ system, messages, tools }: Prompt): number {
  const words = JSON.stringify([system, messages, tools], (key, value) =>
    key === "base64" || key === "images" ? undefined : value,
  );
  return Math.ceil(words.length / charactersPerToken) * readingMsPerToken;
}

const knownServices = new RegExp(
  `(?:^|\\.)(?:${[
    "anthropic.com|openai.com|azure.com|azure.us|azure.cn|amazonaws.com|amazonaws.com.cn|googleapis.com|openrouter.ai|groq.com",
    "mistral.ai|deepseek.com|x.ai|ollama.com|together.xyz|together.ai|fireworks.ai|perplexity.ai|cohere.com|cohere.ai|cerebras.ai",
    "nvidia.com|huggingface.co|sambanova.ai|deepinfra.com|novita.ai|moonshot.ai|moonshot.cn|aliyuncs.com|bigmodel.cn|z.ai",
    "minimax.io|minimaxi.com|siliconflow.cn|siliconflow.com|volces.com|scaleway.ai|ovh.net|github.ai|cloudflare.com|vercel.sh",
  ]
    .join("|")
    .replaceAll(".", "\\.")})$`,
);

/** Companies that run models for others, on machines that are fast enough. */
export function isKnownService(baseUrl: string): boolean {
  return knownServices.test(URL.parse(baseUrl)?.hostname ?? "");
}

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/**
 * Node's client gives up after 5 minutes without a header, or without a byte, which no setting of `fetch` changes. This leaves it to
 * our own limits. The requests go through the dispatcher of this moment, so the proxies apply.
 */
export function withoutClientTimeouts(init: RequestInit = {}): RequestInit {
  // The client is there once one of its classes is.
  void globalThis.Headers;
  const current: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  if (!isDispatcher(current)) return init;
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) => current.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return Object.assign({}, init, { dispatcher });
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === "object" && value !== null && "dispatch" in value && typeof value.dispatch === "function";
}

/** For the client libraries, which give up after ten minutes without a header: longer than any limit. */
export const longestMs = 2_147_483_647;
