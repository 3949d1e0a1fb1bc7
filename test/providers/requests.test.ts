/** What exactly goes to each service, seen at the service. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelRequest } from "../../src/ports/provider.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import {
  apis,
  asking,
  berlin,
  callsIn,
  collect,
  createOpenAiChatProvider,
  lookUp,
  patient,
  scripted,
  textIn,
} from "./apis.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A step after two calls of one answer, with an image and text. */
const afterCalls: Partial<ModelRequest> = {
  system: [
    { text: "Part 1", isCacheable: true },
    { text: "Part 2", isCacheable: true },
    { text: "Part 3", isCacheable: true },
    { text: "Part 4", isCacheable: true },
    { text: "Now", isCacheable: false },
  ],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "hello" },
        { type: "image", mimeType: "image/png", base64: pixel },
      ],
    },
    {
      role: "assistant",
      text: "I look.",
      toolCalls: [
        { id: "call_a", name: "look_up", inputJson: JSON.stringify(berlin) },
        { id: "call_b", name: "look_up", inputJson: "" },
      ],
    },
    { role: "tool", callId: "call_a", name: "look_up", text: "Rain.", isError: false },
    { role: "tool", callId: "call_b", name: "look_up", text: "No place given.", isError: true },
  ],
  tools: [{ ...lookUp, name: "first" }, lookUp],
};

let double: ModelDouble;
beforeEach(async () => {
  double = await startModelDouble();
  scripted(double);
  double.mock.on({ hasToolResult: true }, { content: "It rains in Berlin." });
});
afterEach(() => double.stop());

async function sent(name: string, more: Partial<ModelRequest> = afterCalls) {
  const api = apis.find((known) => known.name === name);
  if (api === undefined) throw new Error(`no api ${name}`);
  await collect(api.create(double.url), asking("hello", more));
  const [request] = double.requests;
  if (request === undefined) throw new Error("nothing was sent");
  return request;
}

describe("anthropic", () => {
  const marked = { cache_control: { type: "ephemeral" } };

  test("gets results in one message, images, and errors marked", async () => {
    const { body, headers, path } = await sent("anthropic");
    expect(path).toBe("/v1/messages");
    expect(headers.authorization ?? headers["x-api-key"]).toContain("test-key");
    expect(body).toMatchObject({ model: "claude-sonnet-5-5", max_tokens: 1_000, stream: true });
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: pixel }, ...marked },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "call_a", name: "look_up", input: berlin },
          { type: "tool_use", id: "call_b", name: "look_up", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_a", content: "Rain.", is_error: false },
          { type: "tool_result", tool_use_id: "call_b", content: "No place given.", is_error: true, ...marked },
        ],
      },
    ]);
  });

  const markedIn = (parts: unknown) =>
    (parts as { text?: string; name?: string; cache_control?: object }[])
      .filter((part) => part.cache_control !== undefined)
      .map((part) => part.text ?? part.name);

  test("gets cache breakpoints after the steady part of the system text, the last request and this one", async () => {
    const { body } = await sent("anthropic");
    expect(markedIn(body.tools)).toEqual([]);
    expect(markedIn(body.system)).toEqual(["Part 4"]);
    expect(JSON.stringify(body.messages).match(/cache_control/g)).toHaveLength(2);
  });

  test("gets a breakpoint after the tools where no part of the system text is steady", async () => {
    const { body } = await sent("anthropic", { ...afterCalls, system: [{ text: "Now", isCacheable: false }] });
    expect(markedIn(body.tools)).toEqual(["look_up"]);
    expect(markedIn(body.system)).toEqual([]);
  });

  test("gets a fourth breakpoint before a step with more calls than the service looks back over", async () => {
    const step = (count: number): ModelRequest["messages"] => {
      const calls = Array.from({ length: count }, (_, index) => ({
        id: `c${index}`,
        name: "look_up",
        inputJson: "{}",
      }));
      const result = { role: "tool" as const, name: "look_up", text: "Rain.", isError: false };
      return [
        { role: "assistant", text: "I look.", toolCalls: calls },
        ...calls.map(({ id }) => ({ ...result, callId: id })),
      ];
    };
    const person: ModelRequest["messages"][number] = { role: "user", content: [{ type: "text", text: "hello" }] };
    const answer = { role: "assistant" as const, text: "Rain.", toolCalls: [] };
    const marksAfter = async (calls: number) => {
      double.requests.length = 0;
      const messages = [person, ...step(calls), answer, person];
      const { body } = await sent("anthropic", { ...afterCalls, messages });
      return (body.messages as { content: unknown }[]).map(({ content }) => markedIn(content).length);
    };
    expect(await marksAfter(9)).toEqual([0, 0, 1, 0, 1]);
    expect(await marksAfter(10)).toEqual([1, 0, 1, 0, 1]);
  });

  test("gets the same bytes before the first breakpoint for the next step", async () => {
    const first = await sent("anthropic");
    const second = await collect(
      apis[0]?.create(double.url) ?? expect.fail(),
      asking("hello", { ...afterCalls, messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }] }),
    );
    expect(second.at(-1)?.type).toBe("end");
    expect(JSON.stringify(double.requests[1]?.body.tools)).toBe(JSON.stringify(first.body.tools));
    expect(JSON.stringify(double.requests[1]?.body.system)).toBe(JSON.stringify(first.body.system));
  });

  test("gets the digest of the person who asked as metadata, and no metadata without one", async () => {
    expect((await sent("anthropic", { endUser: "a digest" })).body.metadata).toEqual({ user_id: "a digest" });
    double.requests.length = 0;
    expect((await sent("anthropic", {})).body).not.toHaveProperty("metadata");
  });

  test("gets neither tools nor an empty system prompt where there are none", async () => {
    const { body } = await sent("anthropic", { system: [], tools: [] });
    expect(Object.keys(body).sort()).toEqual(["max_tokens", "messages", "model", "stream", "thinking"]);
  });

  test("without tools for the last answer gets what was called as tools that may not be called", async () => {
    const { body } = await sent("anthropic", { ...afterCalls, tools: [] });
    expect(body.tools).toMatchObject([{ name: "look_up", input_schema: { type: "object" } }]);
    expect(body.tool_choice).toEqual({ type: "none" });
  });

  test("keeps the tools of the step before where they may not be called any more, so that the cache holds", async () => {
    const { body: before } = await sent("anthropic", afterCalls);
    await sent("anthropic", { ...afterCalls, mayCall: false });
    expect(double.requests.at(-1)?.body).toEqual({ ...before, tool_choice: { type: "none" } });
  });

  test("counts cached tokens apart", async () => {
    const usage =
      '"usage":{"input_tokens":3,"output_tokens":1,"cache_read_input_tokens":40,"cache_creation_input_tokens":5}';
    double.failNext({
      type: "answer",
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: [
        `event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],${usage}}}`,
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ].join("\n\n"),
    });
    const events = await collect(apis[0]?.create(double.url) ?? expect.fail(), asking("hello"));
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 3, outputTokens: 9, cacheReadTokens: 40, cacheWriteTokens: 5 },
    });
  });

  test("at its output limit in mid-arguments gives the call as far as it came, and says so", async () => {
    double.failNext({
      type: "answer",
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look_up","input":{}}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"place\\":\\"Ber"}}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ].join("\n\n"),
    });
    const events = await collect(apis[0]?.create(double.url) ?? expect.fail(), asking("hello"));
    expect(callsIn(events)).toMatchObject([{ inputJson: '{"place":"Ber' }]);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "max-tokens" });
  });
});

describe("openai chat", () => {
  test("gets the system prompt, images, calls and results", async () => {
    const { body, headers, path } = await sent("openai chat");
    expect(path).toBe("/v1/chat/completions");
    expect(headers.authorization).toBe("Bearer test-key");
    expect(body.messages).toEqual([
      { role: "system", content: "Part 1\n\nPart 2\n\nPart 3\n\nPart 4\n\nNow" },
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
      },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "call_a", type: "function", function: { name: "look_up", arguments: JSON.stringify(berlin) } },
          { id: "call_b", type: "function", function: { name: "look_up", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_a", content: "Rain." },
      { role: "tool", tool_call_id: "call_b", content: "No place given." },
    ]);
    expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  test.each([
    ["gpt-5.4-mini", "max_completion_tokens"],
    ["openai/o4-mini", "max_completion_tokens"],
    ["gpt-4o", "max_tokens"],
    ["gpt-5-chat-latest", "max_tokens"],
    ["gpt-oss-120b", "max_tokens"],
    ["llama3.3", "max_tokens"],
  ])("a compatible server is told the limit for %s as %s, and nothing that steers sampling", async (model, field) => {
    const provider = createOpenAiChatProvider({ baseUrl: `${double.url}/v1`, model, timeouts: patient });
    await collect(provider, asking("hello", { tools: [] }));
    const [request] = double.requests;
    expect(request?.body[field]).toBe(1_000);
    expect(Object.keys(request?.body ?? {}).sort()).toEqual(
      [field, "messages", "model", "stream", "stream_options"].sort(),
    );
  });

  test("takes several whole calls that a server gives under one index", async () => {
    const piece = (id: string, place: string) =>
      `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"${id}","function":{"name":"look_up","arguments":"{\\"place\\":\\"${place}\\"}"}}]}}]}`;
    double.failNext({
      type: "answer",
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: [
        piece("a", "Rome"),
        piece("b", "Oslo"),
        '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        "[DONE]",
      ]
        .map((data) => `data: ${data}\n\n`)
        .join(""),
    });
    const events = await collect(apis[1]?.create(double.url) ?? expect.fail(), asking("hello"));
    expect(callsIn(events)).toMatchObject([
      { id: "a", inputJson: '{"place":"Rome"}' },
      { id: "b", inputJson: '{"place":"Oslo"}' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
  });

  test("a compatible server without a key is asked all the same", async () => {
    const provider = createOpenAiChatProvider({ baseUrl: `${double.url}/v1`, model: "local", timeouts: patient });
    expect((await collect(provider, asking("hello"))).at(-1)?.type).toBe("end");
  });
});

test("openai responses gets the whole conversation as items, and keeps nothing at the service", async () => {
  const { body, path } = await sent("openai responses");
  expect(path).toBe("/v1/responses");
  expect(body).toMatchObject({ store: false, instructions: "Part 1\n\nPart 2\n\nPart 3\n\nPart 4\n\nNow" });
  expect(body.input).toEqual([
    {
      role: "user",
      content: [
        { type: "input_text", text: "hello" },
        { type: "input_image", image_url: `data:image/png;base64,${pixel}`, detail: "auto" },
      ],
    },
    { role: "assistant", content: "I look." },
    { type: "function_call", call_id: "call_a", name: "look_up", arguments: JSON.stringify(berlin) },
    { type: "function_call", call_id: "call_b", name: "look_up", arguments: "{}" },
    { type: "function_call_output", call_id: "call_a", output: "Rain." },
    { type: "function_call_output", call_id: "call_b", output: "No place given." },
  ]);
});

describe("where no tool may be called", () => {
  const mayNot = { ...afterCalls, mayCall: false as const };

  test.each([
    ["anthropic", { tool_choice: { type: "none" } }],
    ["openai chat", { tool_choice: "none" }],
    ["openai responses", { tool_choice: "none" }],
    ["ollama", {}],
  ])("%s gets the tools of the step before, because a prompt without them is in no cache", async (name, more) => {
    const { body: before } = await sent(name);
    await sent(name, mayNot);
    expect(double.requests.at(-1)?.body).toEqual({ ...before, ...more });
  });

  const call = { toolCalls: [{ name: "look_up", arguments: JSON.stringify(berlin), id: "call_a" }] };
  const written = { content: `<tool_call>{"name": "look_up", "arguments": ${JSON.stringify(berlin)}}</tool_call>` };

  test.each(
    apis.flatMap((api) =>
      [
        { how: "calls one", answer: call },
        { how: "says something and calls one", answer: { content: "I look.", ...call } },
        { how: "writes a call", answer: written },
      ].map((row) => ({ api, name: api.name, ...row })),
    ),
  )("a model of $name that $how all the same is asked again without tools, now and in later turns", async (row) => {
    const provider = row.api.create(double.url);
    double.mock.on({ predicate: ({ tools = [] }) => tools.length > 0 }, row.answer);
    double.mock.on({ predicate: () => true }, { content: "In text alone." });
    const asked = asking("What is the weather?", { mayCall: false });
    const events = await collect(provider, asked);
    expect(callsIn(events)).toEqual([]);
    const voided = events.findLastIndex(({ type }) => type === "restart");
    expect(events[voided]).toMatchObject({ usage: expect.anything() });
    expect(textIn(events.slice(voided))).toBe("In text alone.");
    expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
    expect(textIn(await collect(provider, asked))).toBe("In text alone.");
    const withTools = double.requests.map(({ body }) => [body.tools ?? []].flat().length > 0);
    expect(withTools).toEqual([true, false, false]);
  });

  const refusalOf = (status: number, message: string) =>
    ({ type: "answer", status, body: JSON.stringify({ error: { message, type: "invalid_request_error" } }) }) as const;

  test.each([
    [
      "OpenRouter",
      404,
      "No endpoints found that support the provided 'tool_choice' value. To learn more, visit: https://openrouter.ai",
    ],
    ["Groq", 400, "Tool choice is none, but model called a tool"],
    ["LiteLLM", 400, "litellm.UnsupportedParamsError: bedrock does not support parameters: {'tool_choice': 'none'}"],
    ["a strict gateway", 400, "Unrecognized request argument supplied: tool_choice"],
    ["a server of another kind", 422, "tool_choice: unexpected value; permitted: 'auto'"],
    ["a server that wants calls", 400, "tools were given, but none may be called"],
  ])("people get an answer from a service that refuses that, as %s does", async (_who, status, message) => {
    const provider = createOpenAiChatProvider({ baseUrl: `${double.url}/v1`, model: "local", timeouts: patient });
    double.failNext(refusalOf(status, message));
    const asked = asking("hello", { mayCall: false });
    expect((await collect(provider, asked)).at(-1)).toMatchObject({ type: "end" });
    const before = double.requests.length;
    await collect(provider, asked);
    // Learned once.
    expect(double.requests.length).toBe(before + 1);
    expect(double.requests.at(-1)?.body).not.toHaveProperty("tool_choice");
  });
});

test("ollama gets images as bytes, arguments as objects and results by tool name", async () => {
  const { body, path } = await sent("ollama");
  expect(path).toBe("/api/chat");
  expect(body.messages).toEqual([
    { role: "system", content: "Part 1\n\nPart 2\n\nPart 3\n\nPart 4\n\nNow" },
    { role: "user", content: "hello", images: [pixel] },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { function: { name: "look_up", arguments: berlin } },
        { function: { name: "look_up", arguments: {} } },
      ],
    },
    { role: "tool", content: "Rain.", tool_name: "look_up" },
    { role: "tool", content: "No place given.", tool_name: "look_up" },
  ]);
});
