/** What DeepSeek and Amazon Bedrock refuse, and how they and OpenRouter answer. */
import { messagesIn, read, thoughtFrames } from "./chat.ts";
import { openAiRefusal } from "./openai.ts";
import { type ModelRule, pathRule, type Refusal } from "./rule.ts";

export const deepSeekErrors = {
  wrongKey: {
    status: 401,
    body: {
      error: {
        message: "Authentication Fails, Your api key: ****-key is invalid",
        ...{ type: "authentication_error", param: null, code: "invalid_request_error" },
      },
    },
  },
  tooMany: openAiRefusal("Rate limit reached", { code: "rate_limit_reached", status: 429 }),
  noBalance: {
    status: 402,
    body: {
      error: { message: "Insufficient Balance", type: "unknown_error", param: null, code: "invalid_request_error" },
    },
  },
} satisfies Record<string, Refusal>;

export const deepSeekRules: readonly ModelRule[] = [
  pathRule(["/chat/completions"], "https://github.com/1jehuang/jcode/issues/310", { error_msg: "Not Found." }),
  {
    says: "an answer with calls goes back with its reasoning, also with an empty one",
    source: "https://github.com/deepseek-ai/deepseek-harness/discussions/1850",
    read,
    refuse(call) {
      const lacks = messagesIn(call).some(
        ({ tool_calls: calls = [], reasoning_content: text }) => calls.length > 0 && typeof text !== "string",
      );
      if (!lacks) return undefined;
      return openAiRefusal("The `reasoning_content` in the thinking mode must be passed back to the API.", {
        code: "invalid_request_error",
      });
    },
  },
  {
    says: "V4 can't see pictures",
    source: "https://github.com/1jehuang/jcode/issues/310",
    read,
    refuse(call) {
      const at = messagesIn(call).findIndex(({ content }) => JSON.stringify(content ?? "").includes('"image_url"'));
      if (at === -1) return undefined;
      return openAiRefusal(
        `Failed to deserialize the JSON body into the target type: messages[${at}]: unknown variant \`image_url\`, expected \`text\` at line 1 column 114708`,
        { code: "invalid_request_error" },
      );
    },
  },
  {
    says: "reasoning comes as reasoning_content, and a step may have none",
    source: "https://github.com/anomalyco/opencode/issues/24722",
    read,
    answer(call, frames) {
      // The second step of a turn follows from the first without a new thought.
      const isSecond = messagesIn(call).filter(({ role }) => role === "tool").length === 1;
      return isSecond ? frames : [...thoughtFrames(call, (text) => ({ reasoning_content: text })), ...frames];
    },
  },
];

/** For OpenRouter, if its model is one of Google's. */
export const reasoningDetails: ModelRule = {
  says: "Gemini's reasoning comes as details",
  source: "https://github.com/hotovo/aider-desk/issues/513",
  read,
  answer(call, frames) {
    const detail = { type: "reasoning.encrypted", data: "c2lnbmVk", id: "r", format: "google-gemini-v1", index: 0 };
    return [...thoughtFrames(call, () => ({ content: "", reasoning_details: [detail] })).slice(0, 1), ...frames];
  },
};

export const bedrockErrors = {
  wrongKey: { status: 403, body: { Message: "Authentication failed: Please make sure your API Key is valid." } },
  tooMany: { status: 429, body: { message: "Too many requests, please wait before trying again." } },
} satisfies Record<string, Refusal>;

export const bedrockRules: readonly ModelRule[] = [
  pathRule(
    ["/openai/v1/responses", "/openai/v1/chat/completions", "/anthropic/v1/messages"],
    "https://docs.aws.amazon.com/bedrock/latest/userguide/apis.html",
    { Message: "Unable to determine the operation of the request." },
  ),
  {
    says: "an API key is a bearer token",
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html",
    read,
    refuse: ({ headers }) =>
      headers.authorization?.startsWith("Bearer ")
        ? undefined
        : { status: 403, body: { Message: "Missing Authentication Token" } },
  },
];
