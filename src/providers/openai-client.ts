/** What both OpenAI APIs share: address, settings, and the client library, which the first request loads. */
import type OpenAI from "openai";
import type { ModelRequest, Provider } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import type { ProviderPlace } from "./failure-kinds.ts";
import { defaultTimeouts, guardedStream, type StreamCall, type StreamPiece, type Timeouts } from "./guarded-stream.ts";
import { digestOfKey } from "./refused-keys.ts";
import { modelOf } from "./request-mapping.ts";
import { createSharedClient, type WithClient } from "./shared-client.ts";
import { createPictureFallback } from "./without-pictures.ts";

export interface OpenAiOptions {
  /** Absent for a compatible server without keys. A function is asked before each request. */
  apiKey?: string | (() => string | undefined);
  /** Includes `/v1`. If absent, OpenAI's own address is used. */
  baseUrl?: string;
  model: string;
  timeouts?: Timeouts;
}

export const openAiUrl = "https://api.openai.com/v1";

function openAiPlace(model: string, options: OpenAiOptions): ProviderPlace {
  return {
    name: "openai",
    model,
    baseUrl: options.baseUrl ?? openAiUrl,
    keySetting: "OPENAI_API_KEY or models.openai.apiKey",
    urlSetting: "OPENAI_BASE_URL or models.openai.baseUrl",
    modelSetting: "models.openai.model",
  };
}

/** The SDK requires a key even if the server does not. */
const noKey = "not-needed";

async function createOpenAiClient({ baseUrl }: OpenAiOptions, fetch: typeof globalThis.fetch): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  return new OpenAI({
    apiKey: noKey,
    baseURL: baseUrl ?? openAiUrl,
    maxRetries: 0,
    fetch,
    logLevel: "off",
  });
}

/** o1 and up, gpt-5 and up, except chat variants. These refuse `max_tokens`; others refuse encrypted reasoning. */
export function isReasoningModel(model: string): boolean {
  return /(?:^|[/:])(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?:$|[-.])/.test(model) && !/-chat\b/.test(model);
}

export function imageUrlOf(part: ToolImage): string {
  return `data:${part.mimeType};base64,${part.base64}`;
}

/** Why an answer was refused, if the service's filter did it, and as the model itself says it. */
export const filterText = "the service's safety filter";

export function quoted(words: string): string {
  return `“${words.trim()}”`;
}

export type AskOpenAi = (
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
) => AsyncIterable<StreamPiece>;

export function createOpenAiProvider(options: OpenAiOptions, ask: AskOpenAi): Provider {
  const { timeouts = defaultTimeouts } = options;
  const { apiKey } = options;
  const keyNow = typeof apiKey === "function" ? apiKey : () => apiKey;
  const withClient = createSharedClient(
    (fetch) => createOpenAiClient(options, fetch),
    (client) => {
      client.apiKey = keyNow() ?? noKey;
    },
  );
  const pictures = createPictureFallback();
  return {
    name: "openai",
    model: `openai/${options.model}`,
    address: options.baseUrl ?? openAiUrl,
    keyDigest() {
      const key = keyNow();
      return key === undefined ? undefined : digestOfKey(key);
    },
    stream(request, signal) {
      const place = openAiPlace(modelOf(request, "openai", options.model), options);
      return pictures.stream(place.model, request, (asked) =>
        guardedStream({ place, timeouts, request: asked, open: (call) => ask(place, withClient, asked, call) }, signal),
      );
    },
  };
}
