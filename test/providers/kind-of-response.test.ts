/** Words that look alike and mean different things: which rule comes first, and what stays as its status says. */
import { expect, test } from "vitest";
import { errorBodyOf } from "../../src/providers/error-body.ts";
import { failureKinds } from "../../src/providers/failure-kinds.ts";
import { kindOfReport, kindOfStatus } from "../../src/providers/kind-of-response.ts";

function kindOf(status: number, error: object) {
  return kindOfStatus(status, errorBodyOf({ error: { type: "invalid_request_error", ...error } }), false);
}

test.each([
  ["another name for the limit", "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'."],
  ["another API", "Function tools with reasoning_effort are not supported in /v1/chat/completions. Use /v1/responses."],
  ["a value of a parameter", "Unsupported value: 'temperature' does not support 0.2 with this model."],
  ["a parameter inside the input", "Unknown parameter: 'input[3].content[0].reasoning'."],
  ["a choice of tools", "tool_choice: Thinking may not be enabled when tool_choice forces tool use."],
])("a refusal that asks for %s stays a bad request, so that the request is sent in another way", (_what, message) => {
  expect(kindOf(400, { message })).toBe("badRequest");
});

test.each([
  ["tooLong", "prompt is too long: 210000 tokens > 200000 maximum"],
  ["limitOverContext", "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000"],
  ["outputLimit", "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens"],
])("a prompt, an output limit, and both together are told apart: %s", (kind, message) => {
  expect(kindOf(400, { message })).toBe(kind);
});

test.each([
  "This request would exceed the rate limit of 20,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested.",
  "Too many tokens, please wait before trying again.",
  "You have reached the limit for requests with a large context window.",
])("“%s” with status 429 is no prompt that is too long", (message) => {
  expect(kindOf(429, { message })).toBe("rateLimited");
});

test("a status that means one thing is not overruled by words", () => {
  expect(kindOf(401, { message: "prompt is too long" })).toBe("wrongKey");
  expect(kindOf(413, { message: "Request too large", code: "rate_limit_exceeded" })).toBe("tooLong");
  expect(kindOf(502, { message: "Incorrect API key provided" })).toBe("serverError");
  expect(kindOf(404, { message: "Your API key was not found" })).toBe("unknownPath");
});

test.each([
  "Loading model",
  "Model meta-llama/Llama-2-7b is currently loading",
  "The model `llama3` is still being loaded. Please try again later.",
])("a server that says “%s” is not overloaded", (message) => {
  expect(kindOf(503, { message, type: "unavailable_error" })).toBe("loading");
  expect(failureKinds.loading.isRetryable).toBe(true);
  expect(kindOf(503, { message: "The server is overloaded", type: "unavailable_error" })).toBe("overloaded");
  expect(kindOf(401, { message })).toBe("wrongKey");
});

test("an account that is empty or closed is told as that, although the words speak of a key or a limit", () => {
  expect(kindOf(403, { message: "Key limit exceeded (monthly limit)" })).toBe("spendLimit");
  expect(kindOf(401, { message: "Your organization has been disabled." })).toBe("closedAccount");
  expect(kindOf(400, { message: "Your credit balance is too low to access the API." })).toBe("noCredit");
});

test("an error in a stream without a status is read by its words, and may pass if they say nothing", () => {
  const reported = (message: string) => kindOfReport(errorBodyOf({ message }));
  expect(reported("Content violates usage guidelines.")).toBe("refused");
  expect(reported("prompt is too long")).toBe("tooLong");
  expect(failureKinds[reported("something")].isRetryable).toBe(true);
});

test.each([
  [503, "Loading model", "loading"],
  [503, "Model meta-llama/Llama-2-7b is currently loading", "loading"],
  [503, "The model is still being loaded. Please retry later.", "loading"],
  [500, "model qwen2.5 is loading", "loading"],
  [503, "server busy, please try again.  maximum pending requests exceeded", "serverFull"],
  [503, "Service unavailable", "overloaded"],
  [503, 'upstream failed for "Loading model"', "overloaded"],
  [400, "error loading model: unknown architecture", "badRequest"],
  [500, "error loading model: unable to allocate buffer", "serverError"],
])("status %i with “%s” is %s", (status, message, kind) => {
  expect(
    kindOfStatus(status, errorBodyOf({ error: { message, type: "unavailable_error", code: status } }), false),
  ).toBe(kind);
});
