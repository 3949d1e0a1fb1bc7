/**
 * The model port.
 *
 * `stream` never throws and never rejects: it yields any number of `text-delta` and `tool-call`, then exactly one
 * `end` or `error`, last. An aborted stream ends with an `error` whose code is `provider.aborted`.
 */
import type { RemoraError } from "../lib/errors.ts";
import type { Json } from "./message.ts";
import type { ToolSpec } from "./tool.ts";

/** A part of the system prompt. Parts come stable first, so that provider prompt caches hold. */
export interface SystemPart {
  text: string;
  /** The prefix up to and with this part is the same on the next call: a cache breakpoint may be set after it. */
  isCacheable: boolean;
}

export interface ModelToolCall {
  id: string;
  name: string;
  /** As the model wrote it; may be malformed. Providers that give objects stringify them. */
  inputJson: string;
}

export type UserPart = { type: "text"; text: string } | { type: "image"; mimeType: string; base64: string };

/**
 * What a service wants back unchanged while the turn goes on, mostly its thinking. Only the same `provider/model` uses it,
 * while it is valid; any other leaves it out.
 */
export interface Carry {
  /** `provider/model` that answered. */
  model: string;
  data: Json;
}

/** Characters of a carry as JSON. A longer one is dropped: the model goes on from what it said, without what it thought. */
export const maxProviderStateLength = 262_144;

export type ModelMessage =
  | { role: "user"; content: UserPart[] }
  /** `carry` only in the running turn: history has none. */
  | { role: "assistant"; text: string; toolCalls: ModelToolCall[]; carry?: Carry }
  | { role: "tool"; callId: string; name: string; text: string; isError: boolean };

export interface ModelRequest {
  system: SystemPart[];
  /** Starts with a user message; every tool call of an assistant message is answered before the next one. */
  messages: ModelMessage[];
  /** Empty: the model must answer in text. */
  tools: ToolSpec[];
  maxOutputTokens: number;
  /** `provider/model` a person chose for this conversation; absent: the cascade's order. */
  preferredModel?: string;
}

/** Tokens as the provider counted them; 0 where it does not say. */
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
  /** `carry` is the data of a `Carry`, at most `maxProviderStateLength` characters as JSON; absent: nothing has to go back. */
  | { type: "end"; stop: StopReason; usage: Usage; model: string; carry?: Json }
  | { type: "error"; error: RemoraError };

export interface Provider {
  name: string;
  model: string;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
