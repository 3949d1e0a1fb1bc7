/** Calls of tools that don't exist, written as an answer: people don't read them, and get the JSON that they ask for. */
import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { guardedStream, type StreamPiece } from "../../src/providers/guarded-stream.ts";
import { toolSpec } from "../doubles/records.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { textIn } from "./apis.ts";

const place = {
  ...{ name: "openai", model: "m", baseUrl: "http://127.0.0.1:1" },
  ...{ keySetting: "key", urlSetting: "url", modelSetting: "model" },
};

/** What people see, piece by piece, and the calls. */
async function read(answer: string, asked = "What is the weather?", pieceLength = 3) {
  const attempt = {
    ...{ place, timeouts: { connectMs: 10_000, firstTokenMs: 60_000, idleMs: 60_000 } },
    request: {
      messages: [{ role: "user" as const, content: [{ type: "text" as const, text: asked }] }],
      tools: [toolSpec("look")],
    },
    async *open(): AsyncGenerator<StreamPiece> {
      for (let at = 0; at < answer.length; at += pieceLength) {
        yield { type: "text-delta", text: answer.slice(at, at + pieceLength) };
        yield { type: "progress" };
      }
      yield { type: "end", stop: "end", usage: noUsage, model: "openai/m" };
    },
  };
  const events: ModelEvent[] = [];
  for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
  const calls = events.flatMap((event) => (event.type === "tool-call" ? [`${event.name} ${event.inputJson}`] : []));
  return { text: textIn(events), calls, pieces: events.filter(({ type }) => type === "text-delta").length };
}

test.each([
  ['{"name": "search_internet", "arguments": {"query": "Bern"}}', 'search_internet {"query":"Bern"}'],
  ['```json\n{"tool": "search_internet", "args": {"query": "Bern"}}\n```', 'search_internet {"query":"Bern"}'],
  ['\n{"type": "function", "function": {"name": "web.search", "parameters": {}}}', "web.search {}"],
  ['{"action": "search", "action_input": "Bern"}', "search Bern"],
  ['{"tool_calls": [{"id": "1", "name": "search", "arguments": {"a": 1}}]}', 'search {"a":1}'],
  ['[{"name": "search", "arguments": {"a": 1}}]', 'search {"a":1}'],
])("%s is a call, which the model is told of, and nobody reads it", async (answer, call) => {
  expect(await read(answer)).toEqual({ text: "", calls: [call], pieces: 0 });
  expect(await read(answer, "Show me the JSON of such a call.")).toMatchObject({ text: answer, calls: [] });
});

test.each([
  '{"name": "Ann", "age": 41}',
  '{"name": "Ann Example", "input": {"a": 1}}',
  '{"temperature": 12, "unit": "C"}',
  '{"name": "search", "description": "Searches", "parameters": {"type": "object", "properties": {}}}',
  '{"name": "search", "parameters": {"type": "object", "properties": {"q": {}}}}',
  'I would call {"name": "search", "arguments": {"q": "Bern"}} here.',
  '{"name": "search", "arguments": {"q": "Bern"}} is what I would call.',
  "[1, 2, 3]",
  "```\nls\n```",
  "{",
])("%s stays a text", async (answer) => {
  expect(await read(answer)).toMatchObject({ text: answer, calls: [] });
});

test("a text that can be no call is shown while it is written", async () => {
  const { pieces } = await read('{"temperature": 12, "wind": "calm", "rain": "none"}');
  expect(pieces).toBeGreaterThan(10);
});
