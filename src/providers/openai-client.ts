/** What both OpenAI APIs share: settings, what the address says about the service, and the client library. */
import type OpenAI from "openai";
import type { ModelRequest } from "../ports/provider.ts";
import type { ToolImage } from "../ports/tool.ts";
import { modelSettingOf, type ProviderPlace, type SettingNames } from "./failure-kinds.ts";
import { longestMs, type Timeouts } from "./patience.ts";

export type ReasoningEffort = Exclude<OpenAI.ReasoningEffort, null>;

export interface OpenAiOptions extends SettingNames {
  /** Absent for a compatible server without keys. A function is asked before each request. */
  apiKey?: string | (() => string | undefined);
  /** Includes `/v1`. If absent, OpenAI's own address is used. */
  baseUrl?: string;
  model: string;
  /** `auto`: by the address, and the other one if the service refuses it. */
  api?: "auto" | Api;
  /** Sent to any service. If absent, only to OpenAI, in the way that suits a chat. */
  effort?: ReasoningEffort;
  timeouts?: Timeouts;
}

export type Api = "chat" | "responses";

export const openAiUrl = "https://api.openai.com/v1";

export function openAiPlace(model: string, options: OpenAiOptions): ProviderPlace {
  return {
    name: "openai",
    model,
    baseUrl: options.baseUrl ?? openAiUrl,
    keySetting: "OPENAI_API_KEY or models.openai.apiKey",
    urlSetting: options.urlSetting ?? "OPENAI_BASE_URL or models.openai.baseUrl",
    modelSetting: modelSettingOf(model, options, "models.openai.model"),
    secrets: [(typeof options.apiKey === "function" ? options.apiKey() : options.apiKey) ?? ""],
  };
}

/** The SDK requires a key even if the server does not. */
export const noKey = "not-needed";

export async function createOpenAiClient({ baseUrl }: OpenAiOptions, fetch: typeof globalThis.fetch): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  return new OpenAI({
    apiKey: noKey,
    baseURL: baseUrl ?? openAiUrl,
    maxRetries: 0,
    timeout: longestMs,
    fetch,
    logLevel: "off",
  });
}

/** Services that are recognised by their address, because they want something else than others. */
export function serviceOf(baseUrl: string = openAiUrl): "openai" | "azure" | "xai" | "google" | "other" {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  if (isOpenAiHost(baseUrl)) return "openai";
  if (/\.(?:openai\.azure\.(?:com|us|cn)|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/.test(host))
    return "azure";
  if (/(?:^|\.)api\.x\.ai$/.test(host)) return "xai";
  return /(?:^|[.-])(?:generativelanguage|aiplatform)\.googleapis\.com$/.test(host) ? "google" : "other";
}

/** OpenAI's own address, also in a region, such as eu.api.openai.com. */
export function isOpenAiHost(baseUrl: string = openAiUrl): boolean {
  return /(?:^|\.)api\.openai\.com$/.test(URL.parse(baseUrl)?.hostname ?? "");
}

/** o1 and up, gpt-5 and up, except chat variants. These refuse `max_tokens`. */
export function isReasoningModel(model: string): boolean {
  return /(?:^|[/:])(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?:$|[-.])/.test(model) && !/-chat\b/.test(model);
}

/** False for models that are known not to reason. Names of deployments and of other vendors say nothing. */
export function mayReason(model: string): boolean {
  return !/(?:^|[/:])(?:gpt-[34]|chatgpt-)|-chat\b/.test(model);
}

/** The digest of the person who asked, only to OpenAI itself: other servers may refuse or keep what they don't know. */
export function endUserField(
  { endUser }: ModelRequest,
  { baseUrl }: ProviderPlace,
  refused: ReadonlySet<string>,
): { safety_identifier?: string } {
  const isSent = endUser !== undefined && isOpenAiHost(baseUrl) && !refused.has("safety_identifier");
  return isSent ? { safety_identifier: endUser } : {};
}

export function imageUrlOf(part: ToolImage): string {
  return `data:${part.mimeType};base64,${part.base64}`;
}

/** Why an answer was refused, if the service's filter did it. */
export const filterText = "the service's safety filter";
