/** What Mistral refuses, and how it answers. */
import { isJsonObject } from "../../../src/lib/json.ts";
import { messagesIn, read, thoughts } from "./chat.ts";
import { type ModelRule, pathRule, type Refusal } from "./rule.ts";

/** All fields that Mistral's reference lists for a chat completion. */
const mistralFields = new Set([
  ...["model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata", "n"],
  ...["response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "prediction"],
  ...["parallel_tool_calls", "prompt_mode", "reasoning_effort", "guardrails", "safe_prompt", "stream_options"],
  "prompt_cache_key",
]);
const mistralMessageFields = new Set(["role", "content", "tool_calls", "prefix", "name", "tool_call_id"]);

function mistralForbidden(location: (string | number)[], input: unknown): Refusal {
  const detail = [
    { type: "extra_forbidden", loc: ["body", ...location], msg: "Extra inputs are not permitted", input },
  ];
  return {
    status: 422,
    body: { object: "error", message: { detail }, type: "invalid_request_error", param: null, code: null },
  };
}

function mistralRefusal(message: string, type: string, code: string): Refusal {
  return { status: 400, body: { object: "error", message, type, param: null, code } };
}

export const mistralErrors = {
  wrongKey: { status: 401, body: { detail: "Unauthorized" } },
  tooMany: {
    status: 429,
    body: {
      ...{ object: "error", message: "Rate limit exceeded", type: "rate_limited", param: null, code: "1300" },
      raw_status_code: 429,
    },
  },
} satisfies Record<string, Refusal>;

export const mistralRules: readonly ModelRule[] = [
  pathRule(["/v1/chat/completions"], "https://github.com/editor-code-assistant/eca/issues/231", {
    message: "no Route matched with those values",
  }),
  {
    says: "a field that the reference does not have is refused",
    source: "https://github.com/Gitlawb/openclaude/issues/739",
    read,
    refuse({ body }) {
      const field = Object.keys(body).find((name) => !mistralFields.has(name));
      return field === undefined ? undefined : mistralForbidden([field], body[field]);
    },
  },
  {
    says: "stream_options has no include_usage, because the usage always comes",
    source: "https://github.com/dnakov/anon-kode/issues/53",
    read,
    refuse({ body: { stream_options: options } }) {
      if (!isJsonObject(options) || options.include_usage === undefined) return undefined;
      return mistralForbidden(["stream_options", "include_usage"], options.include_usage);
    },
  },
  {
    says: "messages have no reasoning_content",
    source: "https://github.com/charmbracelet/crush/issues/1590",
    read,
    refuse(call) {
      for (const [index, message] of messagesIn(call).entries()) {
        const field = Object.keys(message).find((name) => !mistralMessageFields.has(name));
        if (field !== undefined) return mistralForbidden(["messages", index, message.role, field], message[field]);
      }
      return undefined;
    },
  },
  {
    says: "the id of a call has nine letters and digits",
    source: "https://github.com/nearai/ironclaw/issues/1241",
    read,
    refuse(call) {
      const ids = messagesIn(call).flatMap(({ tool_calls: calls = [], tool_call_id: id }) => [
        ...calls.map((one) => one.id),
        ...(id === undefined ? [] : [id]),
      ]);
      const wrong = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
      if (wrong === undefined) return undefined;
      const text = `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
      return mistralRefusal(text, "invalid_function_call", "3280");
    },
  },
  {
    says: "a person does not speak between a tool and the model",
    source: "https://github.com/zed-industries/zed/issues/37021",
    read,
    refuse(call) {
      const roles = messagesIn(call).map(({ role }) => role);
      const isWrong = roles.some((role, index) => role === "user" && roles[index - 1] === "tool");
      if (!isWrong) return undefined;
      return mistralRefusal("Unexpected role 'user' after role 'tool'", "invalid_request_message_order", "3230");
    },
  },
  {
    says: "the service makes such ids itself",
    source: "https://github.com/anomalyco/opencode/issues/1680",
    read,
    answer: (_call, frames) =>
      frames.map((frame) => frame.replaceAll(/"call_([a-z])"/g, (_all, letter) => `"D681PevK${letter}"`)),
  },
  thoughts(
    "reasoning comes as chunks in the content, which is then a list",
    "https://github.com/braintrustdata/braintrust-sdk-javascript/issues/1857",
    (text) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] }),
  ),
];
