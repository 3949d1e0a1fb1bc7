/** What a stream leaves behind, and its end if the service gives it none. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { defaultTimeouts, guardedStream, type StreamPiece } from "../../src/providers/guarded-stream.ts";
import { startModelDouble } from "../doubles/model.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn } from "./apis.ts";

const place = {
  ...{ name: "ollama", model: "m", baseUrl: "http://127.0.0.1:1" },
  ...{ keySetting: "key", urlSetting: "url", modelSetting: "model" },
};
const said: StreamPiece = { type: "text-delta", text: "Hello." };
const end: StreamPiece = { type: "end", stop: "end", usage: noUsage, model: "m" };

// Node never collects a combined signal that has a listener, nor the request that the listener reaches.
test.each([
  ["ends", [said, end]],
  ["breaks off", [said]],
])("a stream that %s leaves no abort listener", async (_how, pieces) => {
  let used: AbortSignal | undefined;
  const attempt = {
    place,
    timeouts: defaultTimeouts,
    request: { messages: [], tools: [] },
    async *open({ signal }: { signal: AbortSignal }) {
      used = signal;
      yield* pieces;
    },
  };
  for await (const _event of guardedStream(attempt, new AbortController().signal));
  expect(used && getEventListeners(used, "abort")).toEqual([]);
});

test.each([
  ["text", { type: "text-delta", text: Array.from({ length: 20_000 }, (_, index) => `${index} and `).join("") }],
  ["arguments of a call", { type: "progress" }],
  ["long arguments of a call", { type: "progress", length: 1_000_000 }],
  ["reasoning", { type: "thinking", length: 1_000_000 }],
] satisfies [string, StreamPiece][])("an answer whose %s never ends is stopped", async (_what, piece) => {
  let used: AbortSignal | undefined;
  const attempt = {
    place,
    timeouts: defaultTimeouts,
    request: { messages: [], tools: [] },
    async *open({ signal }: { signal: AbortSignal }) {
      used = signal;
      for (;;) yield piece;
    },
  };
  const events: ModelEvent[] = [];
  for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "provider.endless", isRetryable: false } });
  expect(events.filter(({ type }) => type === "error")).toHaveLength(1);
  expect(used?.aborted).toBe(true);
});

test("a connection that fails because this machine has too many files open is not blamed on the service", async () => {
  const attempt = {
    place,
    timeouts: defaultTimeouts,
    request: { messages: [], tools: [] },
    // biome-ignore lint/correctness/useYield: it fails before the first piece, as `fetch` does
    async *open(): AsyncGenerator<StreamPiece> {
      const cause = Object.assign(new Error("connect EMFILE 127.0.0.1:1"), { code: "EMFILE" });
      throw new TypeError("fetch failed", { cause });
    },
  };
  const events: ModelEvent[] = [];
  for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
  expect(events).toMatchObject([{ type: "error", error: { code: "provider.out-of-files", isRetryable: true } }]);
});

const long = Array.from({ length: 16_000 }, (_, index) => `${index} `).join("");
const called = { index: 0, id: "a", type: "function", function: { name: "look_up", arguments: long } };
const named = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chunkOf = (delta: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const anthropicDelta = (delta: object) => named({ type: "content_block_delta", ...{ index: 0, delta } });

test.each([
  ["anthropic", "arguments", anthropicDelta({ type: "input_json_delta", partial_json: long })],
  ["anthropic", "signatures", anthropicDelta({ type: "signature_delta", signature: long })],
  ["openai chat", "arguments", chunkOf({ tool_calls: [called] })],
  ["openai chat", "reasoning", chunkOf({ reasoning_content: long })],
  ["openai chat", "arguments beside text", chunkOf({ content: "a", tool_calls: [called] })],
  [
    "openai responses",
    "arguments",
    named({ type: "response.function_call_arguments.delta", ...{ item_id: "a", output_index: 0, delta: long } }),
  ],
  [
    "openai responses",
    "reasoning",
    named({ type: "response.reasoning_summary_text.delta", ...{ item_id: "a", output_index: 0, delta: long } }),
  ],
  ["ollama", "thinking", `${JSON.stringify({ message: { content: "", thinking: long }, done: false })}\n`],
])("what a model sends unseen counts towards the longest answer: %s, %s", async (name, _what, frame) => {
  const double = await startModelDouble();
  const api = apis.find((one) => one.name === name) ?? expect.fail();
  const headers = { "content-type": name === "ollama" ? "application/x-ndjson" : "text/event-stream" };
  double.failNext({ type: "answer", status: 200, headers, body: frame.repeat(30) });
  const events = await collect(api.create(double.url), asking("hello"));
  expect(failureIn(events).code).toBe("provider.endless");
  await double.stop();
});
