/**
 * The model port. `stream` never throws or rejects: it yields any number of `notice`, `text-delta`, `tool-call`, `retract` and `restart`,
 * then exactly one `end` or `error`. An aborted stream ends with an `error` whose code is `provider.aborted`.
 */
import type { RemoraError } from "../lib/errors.ts";
import type { Json } from "./message.ts";
import type { ToolImage, ToolSpec } from "./tool.ts";

/** One object for all requests of one step to one model, whichever part asks again. */
export interface Tries {
  /** How many requests may follow. */
  left: number;
}

/**
 * For the prompt caches of services. The prompt only grows at its end: tools and system are the same for all conversations of a
 * place, and within a conversation each request begins with what the one before had, until the history is cut.
 */
export interface CacheHint {
  /** A digest that names nobody. Services send requests with the same key to where their common beginning is cached. */
  key: string;
  /** The newest pauses between this conversation's turns. Empty in its first turn. */
  pausesMs: readonly number[];
}

/** What tokens of a prompt cost by how they meet a cache, times the price of the input. */
export interface CachePrice {
  read: number;
  write: number;
  /** For what stays for an hour. */
  writeHour: number;
}

/** Stable parts come first so that the provider can cache the beginning of the prompt. */
export interface SystemPart {
  text: string;
  /** The prompt up to the end of this part is the same in the next call, so a cache breakpoint may follow it. */
  isCacheable: boolean;
}

export interface ModelToolCall {
  id: string;
  name: string;
  /** As the model wrote it; may be malformed. */
  inputJson: string;
}

export type UserPart = { type: "text"; text: string } | { type: "image"; mimeType: string; base64: string };

/**
 * Data, mostly the model's thinking, that the same `provider/model` needs back unchanged during the turn, and in later turns if
 * it is an object with `lasts: true`.
 */
export interface Carry {
  model: string;
  data: Json;
}

/** In characters of JSON. Longer data is dropped, and the model continues without its earlier thinking. */
export const maxProviderStateLength = 262_144;

export type ModelMessage =
  /** With `isWords`, one person's words and nothing else. Who says them stands in the message before. */
  | { role: "user"; content: UserPart[]; isWords?: true }
  /** `carry` is present only in the running turn, never in history. */
  | { role: "assistant"; text: string; toolCalls: ModelToolCall[]; carry?: Carry }
  /**
   * `images` belong to `text`. Providers convert them to the service's format, or say that they were omitted. With
   * `isEphemeral`, nobody may store `text`.
   */
  | {
      role: "tool";
      callId: string;
      name: string;
      text: string;
      images?: ToolImage[];
      isEphemeral?: true;
      isError: boolean;
    };

export interface ModelRequest {
  system: SystemPart[];
  /** Starts with a user message. Every tool call of an assistant message is answered before the next message. */
  messages: ModelMessage[];
  tools: readonly ToolSpec[];
  /** The model must answer in text. The tools stay, because a prompt with other tools is not in the service's cache. */
  mayCall?: false;
  /** More tools that the model can call, although the request does not define them. */
  named?: readonly ToolSpec[];
  maxOutputTokens: number;
  /** The `provider/model` that a person chose for this conversation. */
  preferredModel?: string;
  /** Without it, caches are used as if the next request came at once. */
  cache?: CacheHint;
  /** The person who asked, as a digest. Services use it to tell misuse by one person from that of a whole installation. */
  endUser?: string;
  /** Nobody waits for the answer, so people's requests go first, and it ends with `provider.busy` if one comes. */
  isBackground?: true;
  /** No other model may answer instead. */
  isWithoutFallback?: boolean;
  /** The turn has already changed something, so no other model goes on where one declined. */
  isRefusalFinal?: boolean;
  /** Models that declined to answer something in this prompt. They are asked last, because they would decline again. */
  declinedBy?: readonly string[];
  /** Without it, only each part that asks again has its own limit. */
  tries?: Tries;
  /** Builds the request again with at most `tokens`, for a model that takes no more. Only the cascade calls it. */
  fitting?(tokens: number): ModelRequest;
  /** As `fitting`, for a model that has refused this request as too long: with at most half the tokens. */
  shorter?(tokens?: number): ModelRequest;
  /** Milliseconds. Limits the wait for a connection further, because another model is ready to answer. */
  connectMs?: number;
  /** Called once the connection is there and the request has left. Services may then take long to answer. */
  onSent?(): void;
}

/** Tokens as the provider counted them; 0 if it does not say. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Those of `cacheWriteTokens` that stay for an hour, at a higher price. */
  cacheWriteHourTokens?: number;
  /** US dollars that the service itself says it charges for the call. Absent if it does not say. */
  cost?: number;
}

/** A model that declined gives no answer, but an `error` whose code is `provider.refused`. */
export type StopReason =
  | "end"
  | "tool-calls"
  | "max-tokens"
  /** Stopped by us: the text ends in a repetition, which is still in it. */
  | "repeating";

/** How long a text is the same unit again and again, besides three of the units, before it counts as a repetition. */
export const repetitionCharacters = 2_000;

export interface BrokenUsage {
  model: string;
  usage: Usage;
}

export type ModelEvent =
  /** Says to people why the answer takes longer, such as "Asking another model", or what goes on again. Comes before any output. */
  | { type: "notice"; text: string }
  | { type: "text-delta"; text: string }
  | ({ type: "tool-call" } & ModelToolCall)
  /** The text of this answer so far was thinking, as its end has shown, and is void. */
  | { type: "retract" }
  /**
   * What `model` has said so far is void, because it broke off or the model declined: the answer begins again, or an `error`
   * follows. `usage` is present if the service counted it.
   */
  | { type: "restart"; model: string; usage?: Usage }
  | {
      type: "end";
      stop: StopReason;
      usage: Usage;
      model: string;
      carry?: Json;
      /** The failure's code, if the model that should answer could not, and another one did. */
      insteadBecause?: string;
    }
  /** `used`: what services have counted of answers that broke off, for which no `restart` has come. */
  | { type: "error"; error: RemoraError; used?: BrokenUsage[] };

/** What people read while a model is asked. */
export const thinkingNotice = { type: "notice", text: "Thinking" } as const satisfies ModelEvent;

/** A model that works only because the provider did not follow the settings. */
export interface ProviderAdvice {
  /** `provider/model` */
  model: string;
  what: string;
  /** What the owner can set, as a sentence without its full stop. */
  todo: string;
}

export interface Provider {
  name: string;
  model: string;
  /** Base URL of the service. Absent if the model needs none. */
  address?: string;
  /** Tells two keys apart without containing them. Undefined if the service needs no key. */
  keyDigest?(): string | undefined;
  /** The longest prompt that `provider/model` takes, in estimated tokens. Undefined if that is not known by now. */
  promptTokens?(model: string): number | undefined;
  /** What was learned from the service since the start. */
  advice?(): ProviderAdvice[];
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
