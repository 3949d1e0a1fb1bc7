/** How servers and gateways put the chunks of Chat Completions on the wire. */
import { chunk, done, events, type FieldShape, json, said, stream } from "./shape.ts";

const api = "openai chat";
const hello: FieldShape["outcome"] = { type: "answer", text: "Hello there", stop: "end" };
const whole = events(said("Hello "), said("there"), chunk({}, "stop"), done);

/** The bytes of a text, cut in two after so many. */
function cutBytes(text: string, at: number): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  return [bytes.slice(0, at), bytes.slice(at)];
}

const emoji = events(said("Hello 🌍 there"), chunk({}, "stop"), done).join("");

export const chatWire: FieldShape[] = [
  {
    title: "events without a space after the colon are read",
    api,
    source: "https://github.com/aaif-goose/goose/pull/7929",
    answers: [{ pieces: whole.map((piece) => piece.replace("data: ", "data:")) }],
    outcome: hello,
  },
  {
    title: "events with CRLF line ends are read",
    api,
    source: "https://github.com/hey-api/hey-api/issues/3054",
    answers: [{ pieces: whole.map((piece) => piece.replaceAll("\n", "\r\n")) }],
    outcome: hello,
  },
  {
    title: "comments that keep the connection alive are no events",
    api,
    source: "https://github.com/openai/openai-go/issues/227",
    answers: [{ pieces: [": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n", ...whole] }],
    outcome: hello,
  },
  {
    title: "an event without data, which keeps the connection alive, is skipped",
    api,
    source: "https://github.com/netease-lcap/wave-agent/pull/1326",
    answers: [{ pieces: [...whole.slice(0, 1), "data:\n\n", ...whole.slice(1)] }],
    outcome: hello,
  },
  {
    title: "a character whose bytes come in two packets is one character",
    api,
    source: "https://github.com/danielmiessler/Fabric/pull/2203",
    answers: [{ pieces: cutBytes(emoji, new TextEncoder().encode(emoji.slice(0, emoji.indexOf("🌍"))).length + 2) }],
    outcome: { type: "answer", text: "Hello 🌍 there" },
  },
  {
    title: "a character whose halves come in two chunks is one character",
    api,
    source: "https://github.com/elizaOS/eliza/issues/30904",
    answers: [stream(said("Hello \ud83c"), said("\udf0d there"), chunk({}, "stop"), done)],
    outcome: { type: "answer", text: "Hello 🌍 there" },
  },
  {
    title: "a line separator of Unicode in a text does not end the event",
    api,
    source: "https://github.com/Soju06/codex-lb/pull/1011",
    answers: [stream(said("Hello\u2028there"), chunk({}, "stop"), done)],
    outcome: { type: "answer", text: "Hello\u2028there" },
  },
  {
    title: "a stream under a wrong content type is read",
    api,
    source: "https://github.com/tinyhumansai/tinyagents/pull/56",
    answers: [{ headers: { "content-type": "text/plain" }, pieces: whole }],
    outcome: hello,
  },
  {
    title: "plain JSON instead of a stream is a failure that names the address's setting",
    api,
    source: "https://github.com/tinyhumansai/tinyagents/pull/56",
    answers: [
      json(200, { object: "chat.completion", choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] }),
    ],
    outcome: { type: "failure", code: "provider.malformed", isRetryable: true, says: /OPENAI_BASE_URL/ },
  },
  {
    title: "a refusal that comes as plain JSON with status 200 is told by its own code",
    api,
    source: "https://github.com/langchain-ai/langchainjs/pull/11418",
    answers: [json(200, { error: { message: "Rate limit exceeded: free-models-per-min", code: 429 } })],
    outcome: { type: "failure", code: "provider.rate-limited", isRetryable: true, says: /free-models-per-min/ },
  },
  {
    title: "an error of the stream that is only a text is told",
    api,
    source: "https://github.com/code-yeongyu/oh-my-openagent/issues/1196",
    answers: [stream(said("Hello "), { error: "Stream error: error decoding response body" })],
    outcome: {
      ...{ type: "failure", code: "provider.server-error", isRetryable: true, text: "Hello " },
      says: /error decoding response body/,
    },
  },
  {
    title: "an error of OpenRouter's stream ends the answer after what was said",
    api,
    source: "https://github.com/damianvtran/local-operator/pull/223",
    answers: [
      stream(
        said("Hello "),
        chunk({ content: "" }, "error", { error: { code: 502, message: "Network connection lost." } }),
        done,
      ),
    ],
    outcome: {
      ...{ type: "failure", code: "provider.server-error", isRetryable: true, text: "Hello " },
      says: /Network connection lost/,
    },
  },
  {
    title: "an error of OpenRouter's stream without choices is no empty answer",
    api,
    source: "https://github.com/diegosouzapw/OmniRoute/pull/8210",
    answers: [
      stream({ choices: [], error: { code: 502, message: "Worker local total request limit reached (33/32)" } }, done),
    ],
    outcome: {
      ...{ type: "failure", code: "provider.server-error", isRetryable: true },
      says: /Worker local total request limit reached/,
    },
  },
  {
    title: "an error that breaks the form of the stream ends the answer as cut",
    api,
    source: "https://github.com/vercel/ai/issues/5217",
    answers: [
      {
        pieces: [
          ...events(said("Hello ")),
          '{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded."\n  }\n}\n',
        ],
      },
    ],
    outcome: { type: "failure", code: "provider.cut", isRetryable: true, text: "Hello " },
  },
  {
    title: "a number in an error of the stream counts like the status",
    api,
    source: "https://github.com/BerriAI/litellm/pull/32237",
    answers: [stream({ error: { code: 429, message: "engine queue is full", type: "TooManyRequestsError" } }, done)],
    outcome: { type: "failure", code: "provider.rate-limited", isRetryable: true },
  },
  {
    title: "an error event that names its reason `details` is told with it",
    api,
    source: "https://github.com/foundation-model-stack/fms-guardrails-orchestrator/pull/436",
    answers: [
      {
        pieces: [
          'event: error\ndata: {"code":400,"details":"Requested sample logprobs of 21"}\n\n',
          "data: [DONE]\n\n",
        ],
      },
    ],
    outcome: { type: "failure", code: "provider.bad-request", isRetryable: false, says: /sample logprobs of 21/ },
  },
  {
    title: "a call that Groq's own parser could not read is asked for again",
    api,
    source: "https://github.com/anomalyco/opencode/issues/1018",
    answers: [
      {
        pieces: [
          `event: error\ndata: ${JSON.stringify({
            error: {
              message:
                "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
              ...{ type: "invalid_request_error", code: "tool_use_failed", status_code: 400 },
            },
          })}\n\n`,
        ],
      },
    ],
    outcome: { type: "failure", code: "provider.bad-call", isRetryable: true, neverSays: /OPENAI_BASE_URL/ },
  },
];
