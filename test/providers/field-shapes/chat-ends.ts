/** Why an answer of Chat Completions ended, in the words of services that have their own. */
import { berlin, called, callPiece, chunk, done, events, type FieldShape, said, stream } from "./shape.ts";

const api = "openai chat";
const half = "The first step is";

/** Half an answer, and why it ended. */
const endedBy = (finish: string | null): FieldShape["answers"] => [stream(said(half), chunk({}, finish), done)];

const broken: FieldShape["outcome"] = { type: "failure", code: "provider.cut", isRetryable: true, text: half };
const limited: FieldShape["outcome"] = { type: "answer", text: half, stop: "max-tokens" };

export const chatEnds: FieldShape[] = [
  {
    title: "calls in an answer that ends with `stop` are calls",
    api,
    source: "https://github.com/ENTERPILOT/GoModel/pull/124",
    answers: [stream(called(callPiece(0, "a", "look_up", JSON.stringify(berlin))), chunk({}, "stop"), done)],
    outcome: { type: "answer", calls: [berlin], stop: "tool-calls" },
  },
  {
    title: "an end with `tool_calls` and neither calls nor text is an empty answer that may be asked for again",
    api,
    source: "https://github.com/vllm-project/vllm/issues/53255",
    answers: [stream(chunk({ role: "assistant", content: null }), chunk({}, "tool_calls"), done)],
    outcome: { type: "failure", code: "provider.empty", isRetryable: true },
  },
  {
    title: "an end with `tool_calls` after text, without a call, is the end of the answer",
    api,
    source: "https://github.com/mastra-ai/mastra/pull/14187",
    answers: [stream(said("Hello there"), chunk({ tool_calls: [] }, "tool_calls"), done)],
    outcome: { type: "answer", text: "Hello there", stop: "end" },
  },
  {
    title: "an answer of nothing but thinking is an empty answer that may be asked for again",
    api,
    source: "https://github.com/vllm-project/vllm/issues/55420",
    answers: [stream(chunk({ reasoning_content: "I should say hello." }), chunk({ content: "" }, "stop"), done)],
    outcome: { type: "failure", code: "provider.empty", isRetryable: true },
  },
  {
    title: "an empty reason in every chunk does not end the answer",
    api,
    source: "https://github.com/ollama/ollama/issues/4357",
    answers: [stream(chunk({ content: "Hello " }, ""), chunk({ content: "there" }, ""), chunk({}, "stop"), done)],
    outcome: { type: "answer", text: "Hello there", stop: "end" },
  },
  {
    title: "a stream of empty reasons that breaks off is cut",
    api,
    source: "https://github.com/ollama/ollama/issues/4357",
    answers: [stream(chunk({ content: half }, ""))],
    outcome: broken,
  },
  {
    title: "`stop` in every chunk does not end the answer before its last chunk",
    api,
    source: "https://github.com/BerriAI/litellm/issues/2195",
    answers: [stream(chunk({ content: "Hello " }, "stop"), chunk({ content: "there" }, "stop"), done)],
    outcome: { type: "answer", text: "Hello there", stop: "end" },
  },
  {
    title: "a stream with `stop` in every chunk whose connection breaks is cut",
    api,
    source: "https://github.com/BerriAI/litellm/issues/2195",
    answers: [
      {
        pieces: events(chunk({ content: "The first " }, "stop"), chunk({ content: "step is" }, "stop")),
        ending: "reset",
      },
    ],
    outcome: broken,
  },
  {
    title: "a reason that nobody knows is a break in the answer, and no call of it runs",
    api,
    source: "https://github.com/earendil-works/pi/pull/6225",
    answers: [
      stream(
        ...[said(half), called(callPiece(0, "a", "look_up", JSON.stringify(berlin)))],
        ...[chunk({}, "from_the_future"), done],
      ),
    ],
    outcome: { ...broken, says: /from_the_future/ },
  },
  {
    title: "a stream that ends without any reason is cut, even if a call looks complete",
    api,
    source: "https://github.com/earendil-works/pi/pull/6225",
    answers: [stream(called(callPiece(0, "a", "look_up", JSON.stringify(berlin))), done)],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true },
  },
  {
    title: "a call in the old form, whose end comes twice, is one call",
    api,
    source: "https://github.com/xusenlinzy/api-for-open-llm/issues/193",
    answers: [
      stream(
        chunk({ function_call: { name: "look_up", arguments: "" } }),
        chunk({ function_call: { arguments: JSON.stringify(berlin) } }, "function_call"),
        ...[chunk({}, "stop"), done],
      ),
    ],
    outcome: { type: "answer", calls: [berlin], stop: "tool-calls" },
  },
  {
    title: "`end_turn` is the end of the answer",
    api,
    source: "https://github.com/BerriAI/litellm/issues/12481",
    answers: [stream(said("Hello there"), chunk({}, "end_turn"), done)],
    outcome: { type: "answer", text: "Hello there", stop: "end" },
  },
  {
    title: "`error` without an error is a break in the answer",
    api,
    source: "https://github.com/CherryHQ/cherry-studio/pull/16079",
    answers: endedBy("error"),
    outcome: broken,
  },
  {
    title: "`abort`, with which vLLM ends its answers when it is stopped, is a break in the answer",
    api,
    source: "https://github.com/vllm-project/vllm/issues/57082",
    answers: endedBy("abort"),
    outcome: broken,
  },
  {
    title: "`network_error` of Zhipu is a break in the answer",
    api,
    source: "https://github.com/BerriAI/litellm/pull/24373",
    answers: endedBy("network_error"),
    outcome: broken,
  },
  {
    title: "`insufficient_system_resource` of DeepSeek is a break in the answer",
    api,
    source: "https://docs.rs/crate/ds-api/latest/source/src/raw/response/non_streaming/finish_reason.rs",
    answers: endedBy("insufficient_system_resource"),
    outcome: broken,
  },
  {
    title: "a call that Gemini itself could not read is a break in the answer, and nothing of it runs",
    api,
    source: "https://github.com/NousResearch/hermes-agent/pull/83886",
    answers: [
      stream(
        ...[said(half), called(callPiece(0, "a", "look_up", JSON.stringify(berlin)))],
        ...[chunk({}, "MALFORMED_FUNCTION_CALL"), done],
      ),
    ],
    outcome: broken,
  },
  {
    title: "Gemini's `MAX_TOKENS` is the output limit",
    api,
    source: "https://github.com/QwenLM/qwen-code/pull/9884",
    answers: endedBy("MAX_TOKENS"),
    outcome: limited,
  },
  {
    title: "Mistral's `model_length` is a limit",
    api,
    source: "https://docs.rs/crate/mistral-openapi-client/latest/source/src/models/chat_completion_choice.rs",
    answers: endedBy("model_length"),
    outcome: limited,
  },
  {
    title: "`model_context_window_exceeded` of Z.ai is a limit",
    api,
    source: "https://github.com/mozilla-ai/any-llm/pull/1204",
    answers: endedBy("model_context_window_exceeded"),
    outcome: limited,
  },
  {
    title: "Gemini's `SAFETY` is a refusal",
    api,
    source: "https://github.com/HKUDS/Vibe-Trading/pull/308",
    answers: endedBy("SAFETY"),
    outcome: { type: "refusal" },
  },
  {
    title: "Zhipu's `sensitive` is a refusal",
    api,
    source: "https://github.com/langgenius/dify/issues/7559",
    answers: endedBy("sensitive"),
    outcome: { type: "refusal" },
  },
];
