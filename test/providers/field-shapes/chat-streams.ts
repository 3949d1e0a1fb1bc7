/** Streams of Chat Completions that broke other clients: chunks, counts and texts. */
import { chunk, done, events, type FieldShape, said, stream } from "./shape.ts";

const api = "openai chat";
const hello: FieldShape["outcome"] = { type: "answer", text: "Hello there", stop: "end" };
const filterResults = { hate: { filtered: false, severity: "safe" } };

export const chatStreams: FieldShape[] = [
  {
    title:
      "a first chunk without choices, in which Azure reports its filter of the prompt, is no answer and no failure",
    api,
    source: "https://github.com/run-llama/LlamaIndexTS/pull/244",
    answers: [
      stream(
        { id: "", object: "", created: 0, model: "", prompt_filter_results: [{ prompt_index: 0 }], choices: [] },
        ...[said("Hello there"), chunk({}, "stop"), done],
      ),
    ],
    outcome: hello,
  },
  {
    title: "a chunk of Azure's filter without a delta is skipped",
    api,
    source: "https://github.com/run-llama/LlamaIndexTS/pull/2118",
    answers: [
      stream(
        said("Hello "),
        { choices: [{ index: 0, finish_reason: null, content_filter_results: filterResults }] },
        ...[said("there"), chunk({}, "stop"), done],
      ),
    ],
    outcome: hello,
  },
  {
    title: "a chunk whose delta is null is skipped",
    api,
    source: "https://github.com/bagofwords1/bagofwords/pull/742",
    answers: [stream(said("Hello "), chunk(null), said("there"), chunk({}, "stop"), done)],
    outcome: hello,
  },
  {
    title: "the counts of a last chunk without choices count",
    api,
    source: "https://github.com/st3w4r/openai-partial-stream/issues/22",
    answers: [
      stream(
        ...[said("Hello there"), chunk({}, "stop")],
        { choices: [], usage: { prompt_tokens: 308, completion_tokens: 68, total_tokens: 376 } },
        done,
      ),
    ],
    outcome: { ...hello, usage: { inputTokens: 308, outputTokens: 68 } },
  },
  {
    title: "counts in every chunk are totals, of which the last one counts",
    api,
    source: "https://github.com/Abraxas-365/langchain-rust/issues/290",
    answers: [
      stream(
        chunk({ content: "Hello " }, null, { usage: { prompt_tokens: 324, completion_tokens: 1 } }),
        chunk({ content: "there" }, "stop", { usage: { prompt_tokens: 324, completion_tokens: 2 } }),
        done,
      ),
    ],
    outcome: { ...hello, usage: { inputTokens: 324, outputTokens: 2 } },
  },
  {
    title: "counts that are null are counts of nothing",
    api,
    source: "https://github.com/microsoft/foundry-local/issues/173",
    answers: [
      stream(chunk({ content: "Hello there" }, null, { usage: null }), chunk({}, "stop", { usage: null }), done),
    ],
    outcome: { ...hello, usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 } },
  },
  {
    title: "more cached tokens than the whole prompt has count as the whole prompt",
    api,
    source: "https://github.com/promptfoo/promptfoo/pull/9908",
    answers: [
      stream(
        said("Hello there"),
        chunk({}, "stop", {
          usage: { prompt_tokens: 100, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 768 } },
        }),
        done,
      ),
    ],
    outcome: { ...hello, usage: { inputTokens: 0, cacheReadTokens: 100 } },
  },
  {
    title: "text that arrives as a list of parts is shown as text, without the model's thinking",
    api,
    source: "https://github.com/BerriAI/litellm/issues/16272",
    answers: [
      stream(
        chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "They greet." }] }] }),
        chunk({ content: [{ type: "text", text: "Hello " }] }),
        ...[said("there"), chunk({}, "stop"), done],
      ),
    ],
    outcome: hello,
  },
  {
    title: "references among the parts of a text are left out",
    api,
    source: "https://github.com/meilisearch/meilisearch/pull/6327",
    answers: [
      stream(
        chunk({
          content: [
            { type: "text", text: "Hello " },
            { type: "reference", reference_ids: [1] },
            { type: "text", text: "there" },
          ],
        }),
        ...[chunk({}, "stop"), done],
      ),
    ],
    outcome: hello,
  },
  {
    title: "a whole answer whose connection breaks instead of closing is whole",
    api,
    source: "https://github.com/openai/openai-python/issues/2065",
    answers: [{ pieces: events(said("Hello there"), chunk({}, "stop")), ending: "reset" }],
    outcome: hello,
  },
  {
    title: "an answer without the last [DONE] is whole",
    api,
    source: "https://github.com/Dstack-TEE/private-ai-gateway/pull/114",
    answers: [stream(said("Hello there"), chunk({}, "stop"))],
    outcome: hello,
  },
];
