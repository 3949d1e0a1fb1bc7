/** Answers that end twice, or only in part: what is half never stands as whole, and what is declined never as an answer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { apis, asking, callsIn, collect, failureIn, lookUp, textIn } from "./apis.ts";

let double: ModelDouble;
beforeAll(async () => {
  double = await startModelDouble({ service: "any" });
});
afterAll(() => double.stop());

type ApiName = "anthropic" | "openai chat" | "openai responses" | "ollama";
const now = { ...lookUp, name: "now", parameters: { type: "object", properties: {} } };

async function answersWith(name: ApiName, events: object[], isWhole = true): Promise<ModelEvent[]> {
  const api = apis.find((one) => one.name === name);
  if (api === undefined) throw new Error(`no API ${name}`);
  const frames = events.map((event) => {
    if (name === "ollama") return `${JSON.stringify(event)}\n`;
    const { type } = event as { type?: string };
    return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
  });
  const type = name === "ollama" ? "application/x-ndjson" : "text/event-stream";
  const body = frames.join("") + (name === "openai chat" && isWhole ? "data: [DONE]\n\n" : "");
  double.failNext({ type: "answer", status: 200, headers: { "content-type": type }, body });
  return await collect(api.create(double.url), asking("hello", { tools: [lookUp, now] }));
}

const chat = (delta: object, reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason: reason }] });
const chatCall = { tool_calls: [{ index: 0, id: "call_a", function: { name: "now", arguments: "{}" } }] };
const claudeText = { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hello" } };
const claudeCall = {
  ...{ type: "content_block_start", index: 0 },
  content_block: { type: "tool_use", id: "call_a", name: "now", input: {} },
};
const claudeStart = { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: {} } };
const claudeEnd = (stop_reason: string | null, stop_details?: object) => ({
  ...{ type: "message_delta", usage: {} },
  delta: { stop_reason, ...(stop_details === undefined ? {} : { stop_details }) },
});
const over = { type: "message_stop" };
const said = { type: "response.output_text.delta", output_index: 0, delta: "Hello" };
const item = (status: string) => ({
  type: "function_call",
  id: "f",
  call_id: "c",
  name: "now",
  arguments: "{}",
  status,
});
const itemDone = (status: string) => ({ type: "response.output_item.done", output_index: 1, item: item(status) });
const responseEnd = (response: object) => ({
  type: "response.completed",
  response: { id: "r", output: [], ...response },
});
const ollama = (content: string, more: object = {}) => ({
  message: { role: "assistant", content },
  done: false,
  ...more,
});

test.each<[string, ApiName, object[]]>([
  [
    "whose filter is followed by a usual end",
    "openai chat",
    [chat({ content: "He" }, "content_filter"), chat({}, "stop")],
  ],
  [
    "whose filter is followed by the limit",
    "openai chat",
    [chat({ content: "He" }, "content_filter"), chat({}, "length")],
  ],
  [
    "refused, then ended as usual",
    "anthropic",
    [claudeStart, claudeText, claudeEnd("refusal"), claudeEnd("end_turn"), over],
  ],
  [
    "refused, then ended with no reason",
    "anthropic",
    [claudeStart, claudeText, claudeEnd("refusal"), claudeEnd(null), over],
  ],
  [
    "whose refusal comes only as a whole",
    "openai responses",
    [{ type: "response.refusal.done", output_index: 0, refusal: "I can't." }, responseEnd({ status: "completed" })],
  ],
  [
    "whose refusal is only in the item",
    "openai responses",
    [
      {
        ...{ type: "response.output_item.done", output_index: 0 },
        item: { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I can't." }] },
      },
      responseEnd({ status: "completed" }),
    ],
  ],
  ...["bio_policy", "misalignment_policy_violation", "image_content_policy_violation"].map(
    (code): [string, ApiName, object[]] => [
      `that failed with ${code}`,
      "openai responses",
      [{ type: "response.failed", response: { id: "r", status: "failed", error: { code, message: "No." } } }],
    ],
  ),
])("an answer %s is declined (%s)", async (_how, name, events) => {
  expect(failureIn(await answersWith(name, events)).code).toBe("provider.refused");
});

test.each<[string, ApiName, object[]]>([
  ["whose reason is an object", "openai chat", [chat({ content: "He" }, {})]],
  ["whose reason is a number", "openai chat", [chat({ content: "He" }, 0)]],
  ["that failed, then ended as usual", "openai chat", [chat({ content: "He" }, "error"), chat({}, "stop")]],
  ["whose text never ended, without a reason", "anthropic", [claudeStart, claudeText, over]],
  ["whose call never ended", "anthropic", [claudeStart, claudeCall, claudeEnd("tool_use"), over]],
  ["whose call never ended, with a usual end", "anthropic", [claudeStart, claudeCall, claudeEnd("end_turn"), over]],
  ["that was cancelled", "openai responses", [said, responseEnd({ status: "cancelled" })]],
  ["with a status that nobody knows", "openai responses", [said, responseEnd({ status: "paused" })]],
  ["that failed", "ollama", [ollama("He"), ollama("", { done: true, done_reason: "error" })]],
  ["whose model was unloaded", "ollama", [ollama("He"), ollama("", { done: true, done_reason: "unload" })]],
  ["whose model was only loaded", "ollama", [ollama("", { done: true, done_reason: "load" })]],
])("an answer %s counts as broken off (%s)", async (_how, name, events) => {
  const answered = await answersWith(name, events);
  expect(failureIn(answered).code).toBe("provider.cut");
  expect(callsIn(answered)).toEqual([]);
});

const claudeCounted = {
  ...{ type: "message_start" },
  message: {
    ...{ id: "m", role: "assistant", content: [] },
    usage: {
      ...{ input_tokens: 3, output_tokens: 1, cache_read_input_tokens: 400, cache_creation_input_tokens: 50 },
      cache_creation: { ephemeral_1h_input_tokens: 50, ephemeral_5m_input_tokens: 0 },
    },
  },
};
const prompt = { prompt_tokens: 453, prompt_tokens_details: { cached_tokens: 400, cache_write_tokens: 50 } };
const input = { input_tokens: 453, input_tokens_details: { cached_tokens: 400, cache_write_tokens: 50 } };
const prefix = { inputTokens: 3, cacheReadTokens: 400, cacheWriteTokens: 50 };

test.each<[ApiName, object[], object]>([
  [
    "anthropic",
    [claudeCounted, { ...claudeText, content_block: { type: "text", text: "Hello to you." } }],
    { ...prefix, outputTokens: 3, cacheWriteHourTokens: 50 },
  ],
  [
    "openai chat",
    [{ ...chat({ content: "Hello" }), usage: { ...prompt, completion_tokens: 2 } }, chat({ content: " to you and" })],
    { ...prefix, outputTokens: 4 },
  ],
  [
    "openai responses",
    [
      { ...said, delta: "Hello to you." },
      { type: "response.failed", response: { id: "r", usage: { ...input, output_tokens: 9 }, error: { code: "x" } } },
    ],
    { ...prefix, outputTokens: 9 },
  ],
  [
    "ollama",
    [ollama("He"), ollama("", { done: true, done_reason: "error", prompt_eval_count: 453, eval_count: 2 })],
    { inputTokens: 453, outputTokens: 2 },
  ],
])(
  "an answer that breaks off costs what the service has counted by then, and what has come (%s)",
  async (name, events, usage) => {
    const last = (await answersWith(name, events, false)).at(-1);
    expect(last).toMatchObject({ type: "error", used: [{ usage }] });
  },
);

test("an answer that breaks off before the service has counted says nothing of it", async () => {
  expect((await answersWith("anthropic", [claudeStart, claudeText], false)).at(-1)).not.toHaveProperty("used");
});

test("a Responses answer that says it has failed is a failure", async () => {
  const events = [said, responseEnd({ status: "failed", error: { code: "server_error", message: "Broken." } })];
  expect(failureIn(await answersWith("openai responses", events)).code).toBe("provider.server-error");
});

test.each<[string, ApiName, object[]]>([
  ["with the limit before a usual end", "openai chat", [chat(chatCall, "length"), chat({}, "tool_calls")]],
  ["of which the status says so", "openai responses", [itemDone("completed"), responseEnd({ status: "incomplete" })]],
  ["with an item that says so", "openai responses", [itemDone("incomplete"), responseEnd({ status: "completed" })]],
])("an answer %s is known to be cut, so its last call does not run (%s)", async (_how, name, events) => {
  expect((await answersWith(name, events)).at(-1)).toMatchObject({ type: "end", stop: "max-tokens" });
});

test("a call that is not whole never runs, although another one follows", async () => {
  const second = { ...itemDone("completed"), output_index: 2, item: { ...item("completed"), id: "g", call_id: "d" } };
  const events = await answersWith("openai responses", [itemDone("incomplete"), second, responseEnd({})]);
  expect(failureIn(events).code).toBe("provider.cut");
});

test("a call whose block never ended runs if its arguments are whole", async () => {
  const block = { ...claudeCall.content_block, input: { place: "Rome" } };
  const events = await answersWith("anthropic", [
    ...[claudeStart, { ...claudeCall, content_block: block }, claudeEnd("tool_use"), over],
  ]);
  expect(callsIn(events)).toMatchObject([{ inputJson: '{"place":"Rome"}' }]);
});

test.each([false, " ", {}, [], null, 0])("%j in the place of a refusal declines nothing", async (refusal) => {
  const ofChat = await answersWith("openai chat", [chat({ content: "Hello", refusal }), chat({}, "stop")]);
  expect([textIn(ofChat), ofChat.at(-1)?.type]).toEqual(["Hello", "end"]);
  const events = [said, { type: "response.refusal.done", refusal }, responseEnd({ status: "completed" })];
  const answered = await answersWith("openai responses", events);
  expect([textIn(answered), answered.at(-1)?.type]).toEqual(["Hello", "end"]);
});

test.each([
  [{ category: 5, explanation: "It asks too much." }, "(It asks too much.)"],
  [{ category: "constructor" }, "(its safety filter: constructor)"],
  [{ category: {}, explanation: {} }, "declined to answer this;"],
])("why Claude declined is told in words, whatever %j says", async (details, words) => {
  const failed = failureIn(
    await answersWith("anthropic", [claudeStart, claudeText, claudeEnd("refusal", details), over]),
  );
  expect(failed.code).toBe("provider.refused");
  expect(failed.message.replaceAll("`", "")).toContain(words);
});
