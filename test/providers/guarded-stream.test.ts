/** What a stream leaves behind, and its end if the service gives it none. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { defaultTimeouts, guardedStream, type StreamPiece } from "../../src/providers/guarded-stream.ts";
import { noUsage } from "../doubles/scripted-provider.ts";

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
  ["text", { type: "text-delta", text: "again and ".repeat(100) }],
  ["arguments of a call", { type: "progress" }],
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
