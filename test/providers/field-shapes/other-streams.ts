/** Streams of OpenAI's Responses and of Ollama that broke other clients. */
import { berlin, type FieldShape, json, lines, named, of } from "./shape.ts";

const hello: FieldShape["outcome"] = { type: "answer", text: "Hello there", stop: "end" };
const berlinJson = JSON.stringify(berlin);
const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look_up" };
const created = { type: "response.created", response: { id: "resp_1", status: "in_progress" } };
const added = { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } };
const message = { type: "message", id: "msg_1", role: "assistant" };
const completed = (output: object[]) => ({
  ...{ type: "response.completed" },
  response: { id: "resp_1", status: "completed", output, usage: { input_tokens: 10, output_tokens: 2 } },
});
const parts = [{ type: "output_text", text: "Hello there", annotations: [] }];
const oneCall: FieldShape["outcome"] = { type: "answer", calls: [berlin], stop: "tool-calls" };

const responses: Omit<FieldShape, "api">[] = [
  {
    title: "a call whose last event is that of its arguments is a call",
    source: "https://github.com/sgl-project/sglang/issues/12652",
    answers: [
      {
        pieces: named(
          ...[created, added],
          { type: "response.function_call_arguments.done", item_id: "fc_1", output_index: 0, arguments: berlinJson },
          completed([{ ...message, content: [{ type: "output_text", text: "" }] }]),
        ),
      },
    ],
    outcome: oneCall,
  },
  {
    title: "a call that only the last event has whole is a call",
    source: "https://github.com/anomalyco/opencode/pull/44893",
    answers: [
      {
        pieces: named(
          ...[created, { type: "response.output_text.delta", item_id: "msg_1", delta: "I look." }, added],
          { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: '{"place":"Ber' },
          completed([{ ...item, arguments: berlinJson }]),
        ),
      },
    ],
    outcome: { ...oneCall, text: "I look." },
  },
  {
    title: "text that comes in one piece, without deltas, is shown",
    source: "https://github.com/pipecat-ai/pipecat/pull/5309",
    answers: [
      {
        pieces: named(
          ...[
            created,
            { type: "response.content_part.added", item_id: "msg_1", part: { type: "output_text", text: "" } },
          ],
          { type: "response.output_text.done", item_id: "msg_1", content_index: 0, text: "Hello there" },
          { type: "response.output_item.done", output_index: 0, item: { ...message, content: parts } },
          completed([{ ...message, content: parts }]),
        ),
      },
    ],
    outcome: hello,
  },
  {
    title: "text that only the last event has is shown",
    source: "https://github.com/TanStack/ai/pull/937",
    answers: [{ pieces: named(created, completed([{ ...message, content: parts }])) }],
    outcome: hello,
  },
  {
    title: "a call that was begun and never ended breaks the answer, even if the last event says that it is complete",
    source: "https://github.com/anomalyco/opencode/pull/44893",
    answers: [
      {
        pieces: named(
          ...[created, { type: "response.output_text.delta", item_id: "msg_1", delta: "I look." }, added],
          { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: '{"place":"Ber' },
          completed([]),
        ),
      },
    ],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "I look." },
  },
  {
    title: "text that comes in pieces and four times whole, under changing ids, is shown once",
    source: "https://github.com/EricLBuehler/mistral.rs/issues/1944",
    answers: [
      {
        pieces: named(
          ...[created, { type: "response.output_text.delta", item_id: "msg_a", delta: "Hello " }],
          { type: "response.output_text.delta", item_id: "msg_b", delta: "there" },
          { type: "response.output_text.done", item_id: "msg_c", content_index: 0, text: "Hello there" },
          { type: "response.content_part.done", item_id: "msg_c", content_index: 0, part: parts[0] },
          { type: "response.output_item.done", output_index: 0, item: { ...message, id: "msg_d", content: parts } },
          completed([{ ...message, id: "msg_e", content: parts }]),
        ),
      },
    ],
    outcome: hello,
  },
  {
    title: "an answer that is incomplete for a reason that nobody knows is a break in it",
    source: "https://github.com/OpenRouterTeam/typescript-agent/pull/125",
    answers: [
      {
        pieces: named(...[created, { type: "response.output_text.delta", item_id: "msg_1", delta: "Hello there" }], {
          ...{ type: "response.incomplete" },
          response: { id: "resp_1", status: "incomplete", incomplete_details: { reason: "from_the_future" } },
        }),
      },
    ],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "Hello there", says: /from_the_future/ },
  },
  {
    title: "a last event without the output takes nothing back",
    source: "https://github.com/QuantumNous/new-api/issues/4362",
    answers: [
      {
        pieces: named(
          ...[created, { type: "response.output_text.delta", item_id: "msg_1", delta: "Hello there" }],
          ...[{ type: "response.output_item.done", item: { ...message, content: parts } }, completed([])],
        ),
      },
    ],
    outcome: hello,
  },
  {
    title: "two calls whose items have no ids stay apart",
    source: "https://github.com/earendil-works/pi/issues/9057",
    answers: [
      {
        pieces: named(
          created,
          ...["call_a", "call_b"].map((id) => ({
            ...{ type: "response.output_item.done" },
            item: { type: "function_call", call_id: id, name: "look_up", arguments: berlinJson },
          })),
          completed([]),
        ),
      },
    ],
    outcome: { type: "answer", calls: [berlin, berlin], stop: "tool-calls" },
  },
  {
    title: "events without names are read by the type in their data",
    source: "https://github.com/ranxianglei/billion-context/issues/549",
    answers: [
      {
        pieces: named(
          ...[created, { type: "response.output_text.delta", item_id: "msg_1", delta: "Hello there" }, completed([])],
        ).map((piece) => piece.replace(/^event: .*\n/, "")),
      },
    ],
    outcome: hello,
  },
  {
    title: "an event with a name and no data, which keeps the connection alive, is skipped",
    source: "https://github.com/diegosouzapw/OmniRoute/pull/1146",
    answers: [
      {
        pieces: [
          ...named(created),
          "event: keepalive\n\n",
          ...named({ type: "response.output_text.delta", item_id: "msg_1", delta: "Hello there" }, completed([])),
        ],
      },
    ],
    outcome: hello,
  },
  {
    title: "a call that the output limit has cut does not run",
    source: "https://github.com/OpenRouterTeam/typescript-agent/pull/125",
    answers: [
      {
        pieces: named(
          ...[created, added],
          {
            ...{ type: "response.output_item.done", output_index: 0 },
            item: { ...item, status: "incomplete", arguments: '{"place":"Ber' },
          },
          {
            ...{ type: "response.incomplete" },
            response: { id: "resp_1", status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
          },
        ),
      },
    ],
    outcome: { type: "answer", calls: [/Not run: your answer reached the output limit/], stop: "max-tokens" },
  },
  {
    title: "an error event with its error inside is told by its own code",
    source: "https://github.com/openai/openai-node/pull/2021",
    answers: [
      {
        pieces: named(created, {
          ...{ type: "error", sequence_number: 2 },
          error: { type: "too_many_requests", code: "rate_limit_exceeded", message: "Rate limit reached." },
        }),
      },
    ],
    outcome: { type: "failure", code: "provider.rate-limited", isRetryable: true, says: /Rate limit reached/ },
  },
  {
    title: "a failed response without an error is a failure",
    source: "https://github.com/microsoft/agent-framework-go/pull/546",
    answers: [{ pieces: named(created, { type: "response.failed", response: { id: "resp_1", error: null } }) }],
    outcome: { type: "failure", code: "provider.server-error", isRetryable: true },
  },
];

const ollamaWhole = [
  { model: "llama3.2", message: { role: "assistant", content: "Hello " }, done: false },
  { model: "llama3.2", message: { role: "assistant", content: "there" }, done: false },
  { model: "llama3.2", message: { role: "assistant", content: "" }, done: true, done_reason: "stop" },
];
const ollamaText = ollamaWhole.map((line) => `${JSON.stringify(line)}\n`).join("");

const ollama: Omit<FieldShape, "api">[] = [
  {
    title: "a line that comes in two packets is one line",
    source: "https://github.com/0xPlaygrounds/rig/issues/1758",
    answers: [{ pieces: [ollamaText.slice(0, 40), ollamaText.slice(40, 170), ollamaText.slice(170)] }],
    outcome: hello,
  },
  {
    title: "a call comes before a last line without text",
    source: "https://github.com/code-yeongyu/oh-my-openagent/issues/1122",
    answers: [
      lines(
        { message: { tool_calls: [{ function: { name: "look_up", arguments: berlin } }] }, done: false },
        { message: { content: "" }, done: true, done_reason: "stop" },
      ),
    ],
    outcome: oneCall,
  },
  {
    title: "an error after some words ends the answer",
    source: "https://github.com/ollama/ollama/issues/7668",
    answers: [lines(...ollamaWhole.slice(0, 1), { error: "an error was encountered while running the model" })],
    outcome: {
      ...{ type: "failure", code: "provider.server-error", isRetryable: true, text: "Hello " },
      says: /while running the model/,
    },
  },
  {
    title: "an answer that ends for a reason that nobody knows is a break in it, and no call of it runs",
    source: "https://github.com/ollama/ollama/issues/7668",
    answers: [
      lines(
        { message: { tool_calls: [{ function: { name: "look_up", arguments: berlin } }] }, done: false },
        { message: { content: "" }, done: true, done_reason: "from_the_future" },
      ),
    ],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, says: /from_the_future/ },
  },
  {
    title: "an error under another key is told",
    source: "https://github.com/ollama/ollama/issues/11781",
    answers: [lines({ "error parsing tool call": "invalid character 'c' looking for beginning of value" })],
    outcome: { type: "failure", code: "provider.server-error", isRetryable: true, says: /invalid character/ },
  },
  {
    title: "a call that Ollama's own parser could not read is asked for again",
    source: "https://github.com/ollama/ollama/issues/17638",
    answers: [json(500, { error: 'error parsing tool call: raw=\'{"input":"x"}]\', err=' })],
    outcome: { type: "failure", code: "provider.server-error", isRetryable: true, says: /error parsing tool call/ },
  },
  {
    title:
      "a model that needs more memory than there is will not answer later either, and another one is named as the way",
    source: "https://github.com/continuedev/continue/issues/11505",
    // It is asked again with less and less context before.
    answers: Array.from({ length: 8 }, () =>
      json(500, { error: "model requires more system memory (7.5 GiB) than is available (6.0 GiB)" }),
    ),
    outcome: { type: "failure", code: "provider.no-memory", isRetryable: false, says: /models\.ollama\.model/ },
  },
  {
    title: "a runner that has stopped is told, and may be asked again",
    source: "https://github.com/ollama/ollama/issues/14093",
    answers: [
      json(500, {
        error: "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error",
      }),
    ],
    outcome: { type: "failure", code: "provider.server-error", isRetryable: true, says: /resource limitations/ },
  },
];

export const otherStreams: FieldShape[] = [...of("openai responses", responses), ...of("ollama", ollama)];
