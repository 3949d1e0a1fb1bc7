/** What a row of the table of field reports says, and short ways to write the bytes that a service sent. */
import type { ModelRequest, StopReason, Usage } from "../../../src/ports/provider.ts";
import type { Timeouts } from "../../../src/providers/patience.ts";

export interface FieldShape {
  /** The right behaviour, as a sentence. */
  title: string;
  api: "anthropic" | "openai chat" | "openai responses" | "ollama";
  /** Where somebody reported that a real service does this. */
  source: string;
  /** One for each request, in order. */
  answers: WireAnswer[];
  request?: Partial<ModelRequest>;
  /** Ids of calls in earlier steps of the turn. */
  earlierIds?: string[];
  timeouts?: Partial<Timeouts>;
  outcome: Outcome;
}

export interface WireAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** Each piece travels alone. */
  pieces: (string | Uint8Array)[];
  /** By default, the response ends as it should. `pings`: the connection stays open and sends nothing but pings. */
  ending?: "reset" | "pings";
}

export type Outcome =
  | {
      type: "answer";
      text?: string;
      /** In order: a call that may run, or what the model is told instead. */
      calls?: (Record<string, unknown> | RegExp)[];
      stop?: StopReason;
      usage?: Partial<Usage>;
    }
  | {
      type: "failure";
      code: string;
      isRetryable: boolean;
      /** What people have seen before it. */
      text?: string;
      says?: RegExp;
      neverSays?: RegExp;
      /** At least and at most, in milliseconds. */
      retryAfterMs?: [number, number];
    }
  /** The model or a filter has declined: another model may be asked, and nothing half-said stands as an answer. */
  | { type: "refusal" };

/** Server-sent events without names, each in a piece of its own. */
export function events(...data: (object | string)[]): string[] {
  return data.map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`);
}

/** Server-sent events with their types as names. */
export function named(...data: { type: string; [field: string]: unknown }[]): string[] {
  return data.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`);
}

export const done = "[DONE]";

/** A chunk of Chat Completions. `more` are fields beside `choices`. */
export function chunk(delta: object | null, finish: string | null = null, more: object = {}): object {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "some-model", choices, ...more };
}

export const said = (content: string) => chunk({ role: "assistant", content });

export const called = (...pieces: object[]) => chunk({ tool_calls: pieces });

/** A piece of a call, as OpenAI sends the first one. */
export function callPiece(index: number, id: string | undefined, name: string | undefined, text: unknown): object {
  return { index, id, type: "function", function: { name, arguments: text } };
}

export function stream(...data: (object | string)[]): WireAnswer {
  return { pieces: events(...data) };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): WireAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, pieces: [JSON.stringify(body)] };
}

export function page(status: number, html: string): WireAnswer {
  return { status, headers: { "content-type": "text/html; charset=UTF-8" }, pieces: [html] };
}

export function lines(...data: object[]): WireAnswer {
  return {
    headers: { "content-type": "application/x-ndjson" },
    pieces: data.map((each) => `${JSON.stringify(each)}\n`),
  };
}

export const berlin = { place: "Berlin" };

export function of(api: FieldShape["api"], shapes: Omit<FieldShape, "api">[]): FieldShape[] {
  return shapes.map((shape) => ({ ...shape, api }));
}

/** A shape in short. Several answers are those of several requests. */
export type Row = [title: string, source: string, answers: WireAnswer | WireAnswer[], outcome: Outcome];

export function rowsOf(api: FieldShape["api"], rows: Row[], request: Partial<ModelRequest> = {}): FieldShape[] {
  return rows.map(([title, source, answers, outcome]) => ({
    ...{ title, api, source, answers: [answers].flat(), request, outcome },
  }));
}

export function failure(code: string, isRetryable: boolean, says?: RegExp, neverSays?: RegExp): Outcome {
  return {
    ...{ type: "failure", code: `provider.${code}`, isRetryable },
    ...(says === undefined ? {} : { says }),
    ...(neverSays === undefined ? {} : { neverSays }),
  };
}

/** An error body as OpenAI writes it. */
export function openAiError(message: string, more: object = {}): object {
  return { error: { message, type: "invalid_request_error", param: null, code: null, ...more } };
}

/** An error body as Google writes it, which is a list. */
export function googleError(code: number, message: string, more: object = {}): object[] {
  return [{ error: { code, message, ...more } }];
}
