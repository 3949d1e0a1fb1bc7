/** What a stream leaves behind, and its end if the service gives it none. */
import { getEventListeners } from "node:events";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { guardedStream, type StreamPiece } from "../../src/providers/guarded-stream.ts";
import { defaultTimeouts, limitsOf, type Timeouts } from "../../src/providers/patience.ts";
import { startModelDouble } from "../doubles/model.ts";
import { noUsage } from "../doubles/scripted-provider.ts";
import { apis, asking, collect, failureIn, scripted, text, textIn } from "./apis.ts";

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

describe("the wait for the first token", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const words = (tokens: number) => [
    { role: "user" as const, content: [{ type: "text" as const, text: "word".repeat(tokens) }] },
  ];
  const minutes = (count: number) => count * 60_000;

  async function ask(
    baseUrl: string,
    silentMs: number,
    {
      tokens = 100,
      timeouts = defaultTimeouts,
      first,
    }: { tokens?: number; timeouts?: Timeouts; first?: StreamPiece } = {},
  ) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    // The hours of a clock that a test moves pass no network.
    vi.stubGlobal("fetch", async () => new Response("{}"));
    const attempt = {
      place: { ...place, baseUrl },
      timeouts,
      request: { messages: words(tokens), tools: [] },
      async *open({ fetch }: { fetch: typeof globalThis.fetch }): AsyncGenerator<StreamPiece> {
        await fetch(baseUrl);
        if (first !== undefined) yield first;
        await new Promise((resolve) => setTimeout(resolve, silentMs));
        yield said;
        yield end;
      },
    };
    const events: ModelEvent[] = [];
    let isOver = false;
    const collecting = (async () => {
      for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
      isOver = true;
    })();
    while (!isOver) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await collecting;
    return events;
  }
  const code = (events: ModelEvent[]) =>
    events.map((event) => (event.type === "error" ? event.error.code : event.type));

  test.each([
    ["http://127.0.0.1:8080/v1", 75_000, 2_000],
    ["http://[::1]:8080/v1", 75_000, 2_000],
    ["http://192.168.1.20:1234/v1", minutes(4), 100],
    ["http://llama:8080/v1", minutes(12), 30_000],
    ["https://models.example.com/v1", minutes(12), 30_000],
  ])("a server of somebody's own, %s, may need %i ms for %i tokens", async (baseUrl, silentMs, tokens) => {
    expect(code(await ask(baseUrl, silentMs, { tokens }))).toEqual(["text-delta", "end"]);
  });

  test.each([
    ["a sign that it has begun", { type: "progress" }],
    ["a sign that it thinks", { type: "thinking" }],
  ] satisfies [string, StreamPiece][])("%s does not shorten it", async (_what, first) => {
    const events = await ask("http://127.0.0.1:8080", minutes(12), { tokens: 30_000, first });
    expect(code(events)).toEqual(["text-delta", "end"]);
  });

  test("ends at a server that hangs, with what to set", async () => {
    const events = await ask("http://127.0.0.1:8080", minutes(100), { tokens: 2_000 });
    const message = expect.stringMatching(/waited 6 min \d+ s\); .*set models\.timeouts\.firstTokenMs/);
    const error = { code: "provider.first-token-timeout", message, plain: message };
    expect(events).toMatchObject([{ type: "error", error }]);
  });

  test("does not depend on the size of pictures", async () => {
    const picture = { type: "image" as const, mimeType: "image/png", base64: "A".repeat(4_000_000) };
    const prompt = { messages: [{ role: "user" as const, content: [picture] }] };
    expect(limitsOf(defaultTimeouts, "http://127.0.0.1:8080", prompt).firstTokenMs).toBeLessThan(minutes(6));
  });

  test("is what the settings say, at any server", async () => {
    const timeouts = { ...defaultTimeouts, firstTokenMs: 20_000 };
    const events = await ask("http://127.0.0.1:8080", 21_000, { tokens: 30_000, timeouts });
    const message = expect.stringContaining("waited 20 s");
    expect(events).toMatchObject([{ error: { code: "provider.first-token-timeout", message } }]);
    expect(code(await ask("http://127.0.0.1:8080", 19_000, { timeouts }))).toEqual(["text-delta", "end"]);
  });

  test.each(["https://api.anthropic.com", "https://eu.api.openai.com/v1", "https://openrouter.ai/api/v1"])(
    "is a minute at a known service: %s",
    async (baseUrl) => {
      const events = await ask(baseUrl, 61_000, { tokens: 30_000 });
      expect(events).toMatchObject([
        { error: { code: "provider.first-token-timeout", message: expect.stringContaining("waited 1 min)") } },
      ]);
    },
  );
});

test("a local server may pause for minutes between two words, and one that stays silent ends", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const collectFrom = async (pauses: number[]) => {
    const attempt = {
      place: { ...place, baseUrl: "http://127.0.0.1:8080" },
      timeouts: defaultTimeouts,
      request: { messages: [], tools: [] },
      async *open() {
        for (const pauseMs of pauses) {
          yield said;
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
        yield end;
      },
    };
    const events: ModelEvent[] = [];
    let isOver = false;
    const collecting = (async () => {
      for await (const event of guardedStream(attempt, new AbortController().signal)) events.push(event);
      isOver = true;
    })();
    while (!isOver) {
      await vi.advanceTimersByTimeAsync(5_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await collecting;
    return events;
  };
  try {
    const slow = await collectFrom([200_000, 200_000, 200_000]);
    expect(slow.map(({ type }) => type)).toEqual(["text-delta", "text-delta", "text-delta", "end"]);
    expect((await collectFrom([200_000, 3_600_000])).at(-1)).toMatchObject({
      error: { code: "provider.idle-timeout" },
    });
  } finally {
    vi.useRealTimers();
  }
});

// Node's client itself gives up after five minutes. Here it does after one second.
test("headers that come late and long pauses are not cut by the HTTP client, over each protocol", async () => {
  const usual = getGlobalDispatcher();
  const double = await startModelDouble();
  scripted(double);
  const client = new Agent({ headersTimeout: 1_001, bodyTimeout: 1_001 });
  setGlobalDispatcher(client);
  try {
    for (const fault of [
      { type: "late" as const, ms: 2_600 },
      { type: "delay" as const, before: (_frame: string, index: number) => index === 1, ms: 2_600 },
    ]) {
      double.failNext(fault, fault, fault, fault);
      const all = await Promise.all(apis.map((api) => collect(api.create(double.url), asking("hello"))));
      expect(all.map(textIn)).toEqual(apis.map(() => text));
    }
  } finally {
    setGlobalDispatcher(usual);
    await double.stop();
  }
});
