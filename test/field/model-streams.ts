/** Streams of models from public reports, by kind (README.md). Written anew: only the fields of the protocols are the services'. */
import {
  berlin,
  called,
  callPiece,
  chunk,
  done,
  events,
  type FieldShape,
  failure,
  json,
  lines,
  named,
  said,
  stream,
} from "../providers/field-shapes/shape.ts";

const berlinJson = JSON.stringify(berlin);
const romeJson = '{"place":"Rome"}';
const hello: FieldShape["outcome"] = { type: "answer", text: "Hello there", stop: "end" };
const oneCall: FieldShape["outcome"] = { type: "answer", calls: [berlin], stop: "tool-calls" };
const twoCalls: FieldShape["outcome"] = { type: "answer", calls: [berlin, { place: "Rome" }], stop: "tool-calls" };
const nameless = (text: string) => called({ index: 0, function: { arguments: text } });
const halves = (text: string) => [nameless(text.slice(0, 5)), nameless(text.slice(5))];
const begun = (name: string, more: object = {}) => called({ index: 0, ...more, function: { name, arguments: "" } });

const chat = (
  title: string,
  source: string,
  chunks: (object | string)[],
  outcome: FieldShape["outcome"],
): FieldShape => ({
  ...{ title, source, outcome, api: "openai chat" },
  answers: [{ ...stream(...chunks, done) }],
});

export const callShapes: FieldShape[] = [
  chat(
    "calls of one index and no ids, whose arguments come in pieces, stay apart by their names",
    "https://github.com/LibreChat-AI/agents/pull/260",
    [begun("now"), ...halves("{}"), begun("look_up"), ...halves(berlinJson), chunk({}, "tool_calls")],
    { type: "answer", calls: [{}, berlin], stop: "tool-calls" },
  ),
  chat(
    "calls of one index, no ids and one name, whose arguments come in pieces, stay apart",
    "https://github.com/danny-avila/LibreChat/issues/13885",
    [begun("look_up"), ...halves(berlinJson), begun("look_up"), ...halves(romeJson), chunk({}, "tool_calls")],
    twoCalls,
  ),
  chat(
    "a call without arguments is apart from the next one of its index",
    "https://github.com/apache/maka/issues/1976",
    [begun("now"), begun("look_up"), ...halves(berlinJson), chunk({}, "tool_calls")],
    { type: "answer", calls: [{}, berlin], stop: "tool-calls" },
  ),
  chat(
    "calls whose index is null stay apart",
    "https://github.com/chatanywhere/GPT_API_free/issues/254",
    [
      called({ ...callPiece(0, "a", "look_up", berlinJson), index: null }),
      called({ ...callPiece(0, "b", "look_up", romeJson), index: null }),
      chunk({}, "tool_calls"),
    ],
    twoCalls,
  ),
  chat(
    "one call that comes without a list around it is a call",
    "https://github.com/ollama/ollama/issues/7881",
    [chunk({ tool_calls: callPiece(0, "a", "look_up", berlinJson) }), chunk({}, "tool_calls")],
    oneCall,
  ),
  chat(
    "calls that are null and pieces without a function are no calls",
    "https://github.com/smallmain/vscode-unify-chat-provider/pull/29",
    [
      chunk({ tool_calls: null, content: "Hello" }),
      chunk({ tool_calls: [null, { index: 0, function: null }], content: " there" }),
      chunk({}, "stop"),
    ],
    hello,
  ),
  chat(
    "a tool's name with the markers of a model's format behind it is the tool",
    "https://github.com/vllm-project/vllm/issues/32587",
    [called(callPiece(0, "a", "look_up<|channel|>commentary", berlinJson)), chunk({}, "tool_calls")],
    oneCall,
  ),
  {
    title: "a call of the Responses API whose last event has lost the name keeps it",
    api: "openai responses",
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/1004",
    answers: [responses(true, { name: "" })],
    outcome: oneCall,
  },
  {
    title: "a call of the Responses API that gets its id and name only at its end is a call",
    api: "openai responses",
    source: "https://github.com/HEXUXIU/M365-Copilot2API/issues/77",
    answers: [responses({ name: "", call_id: "" })],
    outcome: oneCall,
  },
  {
    title: "a call of the Responses API without an item's id is a call",
    api: "openai responses",
    source: "https://github.com/anomalyco/opencode/pull/45081",
    answers: [responses({ id: undefined }, { id: undefined })],
    outcome: oneCall,
  },
  {
    title: "a call of Anthropic's protocol that a gateway closes before its arguments have come is whole",
    api: "anthropic",
    source: "https://github.com/agentgateway/agentgateway/issues/2147",
    answers: [{ pieces: named(...anthropicCall(["start", "stop", "arguments"])) }],
    outcome: oneCall,
  },
  {
    title: "a call of Anthropic's protocol whose arguments are all in its start is whole",
    api: "anthropic",
    source: "https://github.com/Yeachan-Heo/gajae-code/pull/1895",
    answers: [{ pieces: named(...anthropicCall(["start", "stop"], berlin)) }],
    outcome: oneCall,
  },
  {
    title: "an empty text among the pieces of a call of Anthropic's protocol changes nothing",
    api: "anthropic",
    source: "https://github.com/theopenco/llmgateway/pull/2468",
    answers: [{ pieces: named(...anthropicCall(["start", "empty", "arguments", "stop"])) }],
    outcome: oneCall,
  },
  {
    title: "calls of Ollama's protocol that are null or without a function are no calls",
    api: "ollama",
    source: "https://github.com/ollama/ollama/issues/14256",
    answers: [
      lines(
        {
          message: { role: "assistant", content: "Hello there", tool_calls: [null, { function: null }, {}] },
          done: false,
        },
        { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" },
      ),
    ],
    outcome: hello,
  },
  {
    title: "one call of Ollama's protocol without a list around it is a call",
    api: "ollama",
    source: "https://github.com/BerriAI/litellm/issues/6135",
    answers: [
      lines(
        {
          message: {
            role: "assistant",
            content: "",
            tool_calls: { function: { name: "look_up", arguments: berlinJson } },
          },
          done: false,
        },
        { message: { role: "assistant", content: "" }, done: true },
      ),
    ],
    outcome: oneCall,
  },
];

export const textShapes: FieldShape[] = [
  chat(
    "of several answers to one request, one counts",
    "https://github.com/langchain-ai/langchain/issues/26719",
    [
      { choices: [choice(0, { content: "Hello" }), choice(1, { content: "Goodbye" })] },
      { choices: [choice(1, { content: " then" })] },
      { choices: [choice(1, {}, "length")] },
      { choices: [choice(0, { content: " there" })] },
      { choices: [choice(0, {}, "stop")] },
    ],
    hello,
  ),
  chat(
    "calls of another answer to the request do not run",
    "https://github.com/langfuse/langfuse-python/pull/1862",
    [
      { choices: [choice(0, { content: "Hello there" })] },
      { choices: [choice(1, { tool_calls: [callPiece(0, "a", "look_up", berlinJson)] })] },
      { choices: [choice(1, {}, "tool_calls")] },
      { choices: [choice(0, {}, "stop")] },
    ],
    hello,
  ),
  chat(
    "an event that is null is skipped",
    "https://github.com/Kilo-Org/kilocode/pull/3083",
    [said("Hello"), "null", said(" there"), chunk({}, "stop")],
    hello,
  ),
  chat(
    "choices that are null or no list are skipped",
    "https://github.com/earendil-works/pi/pull/2466",
    [{ choices: null }, said("Hello there"), { choices: {} }, chunk({}, "stop")],
    hello,
  ),
  chat(
    "a piece of text that is a number, an object or a list of something unknown is never text",
    "https://github.com/BerriAI/litellm/issues/16272",
    [
      chunk({ content: { type: "thinking", text: "plan" } }),
      chunk({ content: [{ type: "sparkle", text: "shine" }, 7, null] }),
      chunk({ content: { type: "text", text: "Hello there" } }),
      chunk({}, "stop"),
    ],
    hello,
  ),
  chat(
    "counts that are null count nothing, and break nothing",
    "https://github.com/livekit/agents/pull/6596",
    [
      said("Hello there"),
      chunk({}, "stop", { usage: { prompt_tokens: 11, completion_tokens: null, total_tokens: null } }),
    ],
    { ...hello, usage: { inputTokens: 11, outputTokens: 0 } },
  ),
  chat(
    "counts of the first events do not replace those of the last",
    "https://github.com/router-for-me/CLIProxyAPI/pull/3077",
    [
      { ...said("Hello there"), usage: { prompt_tokens: 0, completion_tokens: 0 } },
      chunk({}, "stop", { usage: { prompt_tokens: 12, completion_tokens: 3 } }),
    ],
    { ...hello, usage: { inputTokens: 12, outputTokens: 3 } },
  ),
  {
    title: "blocks and deltas of Anthropic's protocol that are null are skipped",
    api: "anthropic",
    source: "https://github.com/1Panel-dev/MaxKB/pull/6683",
    answers: [
      {
        pieces: named(
          { type: "message_start", message: null },
          { type: "content_block_start", index: 0, content_block: null },
          { type: "content_block_delta", index: 0, delta: null },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: null } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello there" } },
          { type: "message_delta", delta: { stop_reason: "end_turn" } },
          { type: "message_stop" },
        ),
      },
    ],
    outcome: hello,
  },
  {
    title: "an answer of Ollama's protocol whose text is a list of parts is its text",
    api: "ollama",
    source: "https://github.com/BerriAI/litellm/issues/16272",
    answers: [
      lines(
        { message: { role: "assistant", content: [{ type: "text", text: "Hello there" }] }, done: false },
        { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" },
      ),
    ],
    outcome: hello,
  },
];

export const thinkingShapes: FieldShape[] = [
  ["thought", "https://github.com/tinyhumansai/openhuman/issues/6184"],
  ["thinking", "https://github.com/QwenLM/qwen-code/issues/9348"],
  ["think", "https://github.com/chatboxai/chatbox/issues/2157"],
].map(([tag = "", source = ""]) =>
  chat(
    `what a model thinks in the tag ${tag} is not said, after thinking of its own field either`,
    source,
    [
      chunk({ reasoning_content: "first" }),
      ...["<", tag, ">", "plan", "</", tag, ">\n", "Hello there"].map(said),
      chunk({}, "stop"),
    ],
    { type: "answer", text: "Hello there", stop: "end" },
  ),
);

export const endShapes: FieldShape[] = [
  chat(
    "words before a filter are no answer",
    "https://github.com/pydantic/pydantic-ai/pull/5249",
    [said("The first step is"), chunk({}, "content_filter")],
    { type: "refusal" },
  ),
  chat(
    "a filter that comes with `stop` in the same stream is a filter",
    "https://github.com/BerriAI/litellm/issues/6104",
    [said("The first step is"), chunk({}, "content_filter"), chunk({}, "stop")],
    { type: "refusal" },
  ),
  chat(
    "a call before a filter does not run",
    "https://github.com/spiceai/spiceai/issues/12596",
    [called(callPiece(0, "a", "look_up", berlinJson)), chunk({}, "content_filter")],
    { type: "refusal" },
  ),
  {
    title: "a call before a refusal of Claude does not run",
    api: "anthropic",
    source: "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons",
    answers: [{ pieces: named(...anthropicCall(["start", "arguments", "stop"], {}, "refusal")) }],
    outcome: { type: "refusal" },
  },
  chat(
    "an end without a word or a call is no answer",
    "https://github.com/earendil-works/pi/issues/8462",
    [chunk({ role: "assistant", content: "" }), chunk({}, "stop")],
    failure("empty", true),
  ),
  {
    title: "`tool_use` at the end without any block is no answer",
    api: "anthropic",
    source: "https://github.com/earendil-works/pi/issues/9681",
    answers: [
      {
        pieces: named(
          { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 2 } } },
          { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
          { type: "message_stop" },
        ),
      },
    ],
    outcome: failure("empty", true),
  },
];

export const refusedShapes: FieldShape[] = (
  [
    [
      "a prompt above the context that a server was given",
      "https://github.com/aaif-goose/goose/issues/11048",
      400,
      {
        error: {
          message: "Prompt has 49231 tokens, but the configured context size is 49152 tokens",
          code: "context_length_exceeded",
        },
      },
    ],
    [
      "messages above a gateway's size",
      "https://github.com/MoonshotAI/kimi-code/issues/476",
      400,
      { error: { message: "total message size 10176584 exceeds limit 2097152" } },
    ],
    [
      "a prompt above a model's longest, with the numbers behind colons",
      "https://github.com/can1357/oh-my-pi/issues/1618",
      400,
      {
        error: {
          message: "The prompt is too long: 267657, model maximum context length: 262143",
          type: "invalid_request_error",
        },
      },
    ],
    [
      "prompt and answer together above the longest",
      "https://github.com/kortix-ai/suna/pull/6368",
      400,
      {
        error: {
          message:
            "This endpoint's maximum context length is 1050000 tokens. However, you requested about 1190000 tokens.",
          code: 400,
        },
      },
    ],
    ["a body above a proxy's size", "https://github.com/docker/docker-agent/pull/2819", 413, {}],
  ] as const
).map(([what, source, status, body]) => ({
  ...{ title: `${what} is a prompt that is too long`, source, api: "openai chat" as const },
  answers: [json(status, body)],
  outcome: failure("too-long", false),
}));

function choice(index: number, delta: object, finish_reason: string | null = null): object {
  return { index, delta, finish_reason };
}

function responses(start: object | true, end: object = {}) {
  const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look_up", arguments: "" };
  const whole = { ...item, arguments: berlinJson, status: "completed", ...end };
  return {
    pieces: events(
      { type: "response.output_item.added", output_index: 0, item: { ...item, ...(start === true ? {} : start) } },
      { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_1", delta: berlinJson },
      { type: "response.output_item.done", output_index: 0, item: whole },
      { type: "response.completed", response: { status: "completed", output: [whole] } },
    ),
  };
}

type Part = "start" | "arguments" | "empty" | "stop";

function anthropicCall(parts: Part[], input: object = {}, reason = "tool_use") {
  const piece: Record<Part, { type: string; [field: string]: unknown }> = {
    start: {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "t1", name: "look_up", input },
    },
    arguments: { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: berlinJson } },
    empty: { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
    stop: { type: "content_block_stop", index: 0 },
  };
  return [
    { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 2 } } },
    ...parts.map((part) => piece[part]),
    { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
}
