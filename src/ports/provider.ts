/**
 * The model port.
 *
 * `stream` never throws and never rejects: it yields any number of `text-delta` and `tool-call`, then exactly one
 * `end` or `error`, last. An aborted stream ends with an `error` whose code is `provider.aborted`.
 */
import type { RemoraError } from "../lib/errors.ts";
import type { Json } from "./message.ts";
import type { ToolSpec } from "./tool.ts";

/** A part of the system prompt. Stable parts come first, so that the provider's prompt cache can be used. */
export interface SystemPart {
  text: string;
  /** The prompt up to and including this part is the same in the next call, so a cache breakpoint may be set after it. */
  isCacheable: boolean;
}

export interface ModelToolCall {
  id: string;
  name: string;
  /** As the model wrote it; may be malformed. Providers whose service returns objects stringify them. */
  inputJson: string;
}

export type UserPart = { type: "text"; text: string } | { type: "image"; mimeType: string; base64: string };

/**
 * Data that a service needs back unchanged during the turn, mostly the model's thinking. It is sent only to the same
 * `provider/model`, and only while it is valid.
 */
export interface Carry {
  /** `provider/model` that answered. */
  model: string;
  data: Json;
}

/** Maximum characters of a carry as JSON. A longer one is dropped, and the model continues without its earlier thinking. */
export const maxProviderStateLength = 262_144;

export type ModelMessage =
  | { role: "user"; content: UserPart[] }
  /** `carry` is present only in the running turn, never in history. */
  | { role: "assistant"; text: string; toolCalls: ModelToolCall[]; carry?: Carry }
  | { role: "tool"; callId: string; name: string; text: string; isError: boolean };

export interface ModelRequest {
  system: SystemPart[];
  /** Starts with a user message; every tool call of an assistant message is answered before the next one. */
  messages: ModelMessage[];
  /** If empty, the model must answer in text. */
  tools: ToolSpec[];
  maxOutputTokens: number;
  /** The `provider/model` that a person chose for this conversation. If absent, the cascade's order applies. */
  preferredModel?: string;
}

/** Tokens as the provider counted them; 0 if it does not say. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export type StopReason = "end" | "tool-calls" | "max-tokens" | "refusal";

export type ModelEvent =
  | { type: "text-delta"; text: string }
  | ({ type: "tool-call" } & ModelToolCall)
  /**
   * `carry` is the data of a `Carry`, at most `maxProviderStateLength` characters as JSON; absent if nothing has to be sent
   * back.
   */
  | { type: "end"; stop: StopReason; usage: Usage; model: string; carry?: Json }
  | { type: "error"; error: RemoraError };

export interface Provider {
  name: string;
  model: string;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
