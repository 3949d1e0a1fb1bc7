/** What both of OpenAI's APIs share: where they are, their settings' names, and the client, loaded at the first request. */
import type OpenAI from "openai";
import type { ModelRequest, Provider, UserPart } from "../ports/provider.ts";
import type { ProviderPlace } from "./failures.ts";
import { defaultTimeouts, guardedStream, type StreamCall, type StreamPiece, type Timeouts } from "./guarded-stream.ts";
import { modelOf } from "./request-mapping.ts";
import { createSharedClient, type WithClient } from "./shared-client.ts";

export interface OpenAiOptions {
  /** Absent: a compatible server that wants none. */
  apiKey?: string;
  /** Up to and with `/v1`; absent: OpenAI itself. */
  baseUrl?: string;
  model: string;
  timeouts?: Timeouts;
}

const openAiUrl = "https://api.openai.com/v1";

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

async function createOpenAiClient({ apiKey, baseUrl }: OpenAiOptions, fetch: typeof globalThis.fetch): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  return new OpenAI({
    // The SDK wants a key even where the server wants none.
    apiKey: apiKey ?? "not-needed",
    baseURL: baseUrl ?? openAiUrl,
    maxRetries: 0,
    fetch,
    logLevel: "off",
  });
}

/**
 * Models of OpenAI that reason, by their names: o1 and up, gpt-5 and up, but for its chat variants. They refuse the old
 * name of the output limit, and others refuse to be asked for encrypted reasoning.
 */
export function isReasoningModel(model: string): boolean {
  return /(?:^|[/:])(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?:$|[-.])/.test(model) && !/-chat\b/.test(model);
}

export function imageUrlOf(part: Extract<UserPart, { type: "image" }>): string {
  return `data:${part.mimeType};base64,${part.base64}`;
}

/** Asks the service over one of its protocols. */
export type AskOpenAi = (
  place: ProviderPlace,
  withClient: WithClient<OpenAI>,
  request: ModelRequest,
  call: StreamCall,
) => AsyncIterable<StreamPiece>;

/** The provider port around `ask`, the same for both protocols. */
export function createOpenAiProvider(options: OpenAiOptions, ask: AskOpenAi): Provider {
  const { timeouts = defaultTimeouts } = options;
  const withClient = createSharedClient((fetch) => createOpenAiClient(options, fetch));
  return {
    name: "openai",
    model: `openai/${options.model}`,
    stream(request, signal) {
      const place = openAiPlace(modelOf(request, "openai", options.model), options);
      return guardedStream({ place, timeouts, open: (call) => ask(place, withClient, request, call) }, signal);
    },
  };
}
