/** The four protocols under test, each with its provider and the frames at which a test lets something go wrong. */
import type { ModelEvent, ModelMessage, ModelRequest, Provider } from "../../src/ports/provider.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import { createAnthropicProvider } from "../../src/providers/anthropic.ts";
import { createOllamaProvider } from "../../src/providers/ollama.ts";
import { createOpenAiProvider } from "../../src/providers/openai.ts";
import type { OpenAiOptions } from "../../src/providers/openai-client.ts";
import type { Timeouts } from "../../src/providers/patience.ts";
import type { FrameTest, ModelDouble } from "../doubles/model.ts";

export interface Api {
  name: string;
  create(url: string, timeouts?: Timeouts): Provider;
  /** The second piece of text, the first piece of arguments, and what ends the answer. */
  secondText: FrameTest;
  argumentsPiece: FrameTest;
  ending: FrameTest;
  /** An error in mid-stream, as the service reports an overload. */
  errorFrame: string;
  garbageFrame: string;
}

/** As the settings have it by default. */
export const usualContext = { promptTokens: 32_000, answerTokens: 16_000 };

/** Long enough never to matter, unless a test sets them. */
export const patient: Timeouts = { connectMs: 10_000, firstTokenMs: 10_000, idleMs: 10_000 };

export const createOpenAiChatProvider = (options: OpenAiOptions) => createOpenAiProvider({ ...options, api: "chat" });
export const createOpenAiResponsesProvider = (options: OpenAiOptions) =>
  createOpenAiProvider({ ...options, api: "responses" });

const nth = (count: number, isWanted: (frame: string) => boolean): FrameTest => {
  let seen = 0;
  return (frame, index) => {
    if (index === 0) seen = 0;
    if (isWanted(frame)) seen += 1;
    return seen === count;
  };
};

export const apis: Api[] = [
  {
    name: "anthropic",
    create: (url, timeouts = patient) =>
      createAnthropicProvider({ apiKey: "test-key", baseUrl: url, model: "claude-sonnet-5-5", timeouts }),
    secondText: nth(2, (frame) => frame.includes("text_delta")),
    argumentsPiece: nth(2, (frame) => frame.includes("input_json_delta")),
    ending: (frame) => frame.includes("message_delta"),
    errorFrame: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    garbageFrame: "event: content_block_delta\ndata: {not json",
  },
  {
    name: "openai chat",
    create: (url, timeouts = patient) =>
      createOpenAiChatProvider({ apiKey: "test-key", baseUrl: `${url}/v1`, model: "gpt-5.4-mini", timeouts }),
    secondText: nth(3, (frame) => frame.includes('"content":')),
    argumentsPiece: nth(3, (frame) => frame.includes('"arguments":')),
    ending: (frame) => /"finish_reason":"/.test(frame),
    errorFrame: 'data: {"error":{"type":"overloaded_error","message":"Overloaded"}}',
    garbageFrame: "data: {not json",
  },
  {
    name: "openai responses",
    create: (url, timeouts = patient) =>
      createOpenAiResponsesProvider({ apiKey: "test-key", baseUrl: `${url}/v1`, model: "gpt-5.4-mini", timeouts }),
    secondText: nth(2, (frame) => frame.includes("output_text.delta")),
    argumentsPiece: nth(2, (frame) => frame.includes("function_call_arguments.delta")),
    ending: (frame) => frame.includes("response.completed"),
    errorFrame: 'event: error\ndata: {"type":"error","code":"overloaded","message":"Overloaded","param":null}',
    garbageFrame: "event: response.output_text.delta\ndata: {not json",
  },
  {
    name: "ollama",
    create: (url, timeouts = patient) =>
      createOllamaProvider({ host: url, model: "llama3.2", timeouts, context: usualContext }),
    secondText: nth(2, (frame) => /"content":"[^"]/.test(frame)),
    argumentsPiece: (frame) => frame.includes("tool_calls"),
    ending: (frame) => frame.includes('"done":true'),
    errorFrame: '{"error":"overloaded_error: the model runner is overloaded"}',
    garbageFrame: "{not json",
  },
];

export const lookUp: ToolSpec = {
  name: "look_up",
  description: "Looks up the weather of a place.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  skill: "weather",
  isReadOnly: true,
  isIdempotent: true,
  readsUntrusted: false,
  isOutward: false,
  timeoutMs: 1_000,
  folder: "none",
  shellParameters: [],
};

/** What `scripted` makes the double answer to. */
export const text = "Hello there, dear friend of mine, here I am.";
export const berlin = { place: "Berlin in the middle of Germany" };

export function scripted(double: ModelDouble): void {
  double.mock.onMessage("hello", { content: text });
  double.mock.onMessage("one call", {
    content: "I look.",
    toolCalls: [{ name: "look_up", arguments: JSON.stringify(berlin), id: "call_a" }],
  });
  double.mock.onMessage("two calls", {
    toolCalls: [
      { name: "look_up", arguments: JSON.stringify(berlin), id: "call_a" },
      { name: "look_up", arguments: '{"place":"Rome"}', id: "call_b" },
    ],
  });
}

export function asking(said: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: [{ text: "You help.", isCacheable: true }],
    messages: [{ role: "user", content: [{ type: "text", text: said }] }],
    tools: [lookUp],
    maxOutputTokens: 1_000,
    ...more,
  };
}

export async function collect(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request, signal)) events.push(event);
  return events;
}

export function textIn(events: ModelEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

export function callsIn(events: ModelEvent[]) {
  return events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
}

/** The failure at the end, or a reason to fail the test. */
export function failureIn(events: ModelEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "error") throw new Error(`the stream ended with ${JSON.stringify(last)}`);
  return last.error;
}

/** The assistant's message and its results, as a turn keeps them: through JSON. */
export function answered(events: ModelEvent[]): ModelMessage[] {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`no end: ${JSON.stringify(end)}`);
  const toolCalls = callsIn(events).map(({ id, name, inputJson }) => ({ id, name, inputJson }));
  const carry = end.carry === undefined ? {} : { carry: { model: end.model, data: end.carry } };
  const messages: ModelMessage[] = [
    { role: "assistant", text: textIn(events), toolCalls, ...carry },
    ...toolCalls.map(({ id, name }) => ({ role: "tool" as const, callId: id, name, text: "Rain.", isError: false })),
  ];
  return JSON.parse(JSON.stringify(messages));
}
