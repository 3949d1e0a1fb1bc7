/** Answers that the model does not end: where they stop, and what is left of them. */
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { createAnswerBounds } from "../../src/providers/answer-bounds.ts";
import { guardedStream, type StreamPiece } from "../../src/providers/guarded-stream.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { toolSpec } from "../doubles/records.ts";
import { apis, asking, collect, failureIn, textIn } from "./apis.ts";

const place = {
  ...{ name: "openai", model: "m", baseUrl: "http://127.0.0.1:1" },
  ...{ keySetting: "key", urlSetting: "url", modelSetting: "model" },
};

let double: ModelDouble;
beforeAll(async () => {
  double = await startModelDouble();
});
afterAll(() => double.stop());

/** What the stream gives of pieces that come for ever, and how many it took. */
async function read(piece: (count: number) => StreamPiece, maxOutputTokens = 16_000) {
  let taken = 0;
  let used: AbortSignal | undefined;
  const attempt = {
    ...{ place, timeouts: { connectMs: 10_000, firstTokenMs: 60_000, idleMs: 60_000 } },
    request: { messages: [], tools: [toolSpec("look")], maxOutputTokens },
    async *open({ signal }: { signal: AbortSignal }) {
      used = signal;
      for (;;) {
        await setImmediate();
        yield piece(taken++);
      }
    },
  };
  const events: ModelEvent[] = [];
  for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
  await expect.poll(() => used?.aborted).toBe(true);
  return { events, taken };
}

const says = (text: string) => (): StreamPiece => ({ type: "text-delta", text });

test("a text that repeats itself for ever ends after some thousand characters, as an answer", async () => {
  const { events, taken } = await read(says("I will look now. "));
  expect(events.at(-1)).toMatchObject({ type: "end", stop: "repeating", model: "openai/m" });
  expect(taken).toBeLessThan(400);
});

test.each<[string, StreamPiece]>([
  ["thoughts", { type: "thinking", hidden: "Wait, let me check. " }],
  ["arguments", { type: "progress", hidden: "\\n0" }],
  ["thoughts in the text", { type: "text-delta", text: '{"name": "loo' }],
])("%s that repeat themselves for ever end in a failure that says so", async (_what, piece) => {
  const { events } = await read(() => piece);
  const message = "m repeated itself without end, so I stopped it; rephrase the question, or use another model (model)";
  expect(events).toMatchObject([
    { type: "error", error: { code: "provider.endless", plain: message, isRetryable: false } },
  ]);
});

const runtime = (count: number) => `<runtime>\ntime: ${count}\n</runtime>\n`;

test.each<[string, (count: number) => string]>([
  ["the facts of the next turn", (count) => `${runtime(count)}It is ${count}.\n`],
  ["the next person's words", (count) => (count === 0 ? "It is 0.\n" : `<|im_start|>user\nAnd ${count}?<|im_end|>`)],
])("a model that plays the whole conversation is stopped at %s", async (_what, text) => {
  const { events, taken } = await read((count) => ({ type: "text-delta", text: text(count) }));
  expect(textIn(events).trim()).toBe("It is 0.");
  expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
  expect(taken).toBeLessThan(150);
});

test("a call before the facts of the next turn runs", async () => {
  const call = '{"name": "look", "arguments": {}}\n';
  const { events } = await read((count) => ({ type: "text-delta", text: `${runtime(count)}${call}` }));
  expect(events).toMatchObject([
    { type: "tool-call", name: "look" },
    { type: "end", stop: "tool-calls" },
  ]);
});

test("an answer is never much longer than asked for, also if the server ignores the limit", async () => {
  const { events } = await read((count) => ({ type: "text-delta", text: `${count} is a number. ` }), 256);
  expect(events.at(-1)).toMatchObject({ type: "end", stop: "max-tokens" });
  expect(textIn(events).length).toBeGreaterThan(3_000);
  expect(textIn(events).length).toBeLessThan(5_000);
});

test("an answer that goes on for half an hour is stopped", () => {
  let now = 0;
  const bounds = createAnswerBounds(place, 16_000, () => now);
  for (const minutes of [0, 10, 29]) {
    now = minutes * 60_000;
    expect(bounds.stopAfter({ text: `${minutes}` })).toBeUndefined();
  }
  now = 31 * 60_000;
  expect(() => bounds.stopAfter({ hidden: "still" })).toThrow("did not end, so I stopped it (after 30 min)");
});

const named = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chunkOf = (delta: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const thought = "Wait, let me check again. ";

test.each([
  [
    "anthropic",
    "arguments",
    named({ type: "content_block_delta", ...{ index: 0, delta: { type: "input_json_delta", partial_json: "0, " } } }),
  ],
  ["openai chat", "reasoning", chunkOf({ reasoning_content: thought })],
  ["openai chat", "reasoning under its other name", chunkOf({ reasoning: thought })],
  [
    "openai chat",
    "arguments",
    chunkOf({ tool_calls: [{ index: 0, id: "a", type: "function", function: { arguments: "0, " } }] }),
  ],
  [
    "openai responses",
    "reasoning",
    named({ type: "response.reasoning_summary_text.delta", ...{ item_id: "a", output_index: 0, delta: thought } }),
  ],
  [
    "openai responses",
    "arguments",
    named({ type: "response.function_call_arguments.delta", ...{ item_id: "a", output_index: 0, delta: "0, " } }),
  ],
  ["ollama", "thinking", `${JSON.stringify({ message: { content: "", thinking: thought }, done: false })}\n`],
])("what a model writes unseen may not repeat itself for ever: %s, %s", async (name, _what, frame) => {
  const api = apis.find((one) => one.name === name) ?? expect.fail();
  const headers = { "content-type": name === "ollama" ? "application/x-ndjson" : "text/event-stream" };
  double.failNext({ type: "answer", status: 200, headers, body: frame.repeat(3_200) });
  const events = await collect(api.create(double.url), asking("hello"));
  expect(failureIn(events).plain).toContain("repeated itself without end");
});
