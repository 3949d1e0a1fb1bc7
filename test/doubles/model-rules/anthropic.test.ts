/** What the double of Claude refuses, as the service does: for each rule, a request that breaks it. */
import { expect, test } from "vitest";
import { picture } from "../../conformance/provider.ts";
import { anthropicRules, apiKeyGatewayRules, bearerGatewayRules } from "./anthropic.ts";
import { shapeClaudeAnswer } from "./anthropic-shapes.ts";
import { type ModelCall, refusalOf } from "./rule.ts";

const headers = { authorization: "Bearer k", "anthropic-version": "2026-10-21" };
const ask = { role: "user", content: "hello" };
const plain = { model: "claude-sonnet-5-5", max_tokens: 16_000, messages: [ask] };

function refusal(body: object, more: Partial<ModelCall> = {}) {
  return refusalOf(anthropicRules, {
    ...{ path: "/v1/messages", headers, answers: [], asked: [], ...more },
    body: { ...plain, ...body },
  });
}

const image = (data: string, type = "image/png") => ({
  role: "user",
  content: [{ type: "image", source: { type: "base64", media_type: type, data } }],
});
const png = (side: number) => {
  const head = Buffer.from(picture, "base64").subarray(0, 24);
  head.writeUInt32BE(side, 16);
  return head.toString("base64");
};
const failed = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "a", is_error: true, content: image(picture).content }],
};
const tool = (schema: object) => ({ tools: [{ name: "t", input_schema: { type: "object", ...schema } }] });

const block = (ttl: string, more: object = {}) => ({
  ...{ type: "text", text: "hello" },
  cache_control: { type: "ephemeral", ttl, ...more },
});

test.each<[string, object, RegExp]>([
  ["temperature", { temperature: 1 }, /temperature/],
  ["disabled thinking of Sonnet 5.5", { thinking: { type: "disabled" } }, /thinking\.type\.between_tools/],
  ["disabled thinking of Opus 5.5", { model: "claude-opus-5-5", thinking: { type: "disabled" } }, /not supported/],
  ["a thinking budget of Opus 5.5", { model: "claude-opus-5-5", thinking: { type: "enabled" } }, /not supported/],
  ["between_tools of Opus 5.5", { model: "claude-opus-5-5", thinking: { type: "between_tools" } }, /not supported/],
  ["adaptive thinking of Haiku 4.5", { model: "claude-haiku-4-5", thinking: { type: "adaptive" } }, /adaptive/],
  [
    "between_tools at the effort max",
    { thinking: { type: "between_tools" }, output_config: { effort: "max" } },
    /at effort "max"/,
  ],
  ["updates without their header", { thinking: { type: "adaptive", display: "updates" } }, /display/],
  ["effort of Haiku 4.5", { model: "claude-haiku-4-5", output_config: { effort: "low" } }, /effort parameter/],
  [
    "a fifth breakpoint",
    { messages: [{ role: "user", content: Array.from({ length: 5 }, () => block("5m")) }] },
    /Found 5/,
  ],
  [
    "an hour after five minutes",
    { messages: [{ role: "user", content: [block("5m"), block("1h")] }] },
    /must not come/,
  ],
  ["another life", { messages: [{ role: "user", content: [block("2h")] }] }, /'5m' or '1h'/],
  ["a breakpoint with more fields", { messages: [{ role: "user", content: [block("1h", { scope: "a" })] }] }, /scope/],
  ["a forced tool", { tool_choice: { type: "any" } }, /tool_choice/],
  ["a prefilled answer", { messages: [ask, { role: "assistant", content: "Well" }] }, /prefill/],
  ["more output than the model has", { max_tokens: 128_001 }, /> 128000/],
  ["a schema with anyOf at its top", tool({ anyOf: [] }), /anyOf at the top level/],
  ["a picture of an unknown type", { messages: [image(picture, "image/tiff")] }, /media_type/],
  ["a picture of 8,001 pixels", { messages: [image(png(8_001))] }, /8000 pixels/],
  ["a picture of 2,001 pixels among 21", { messages: Array(21).fill(image(png(2_001))) }, /many-image.*2000 pixels/],
  ["601 pictures", { messages: Array(601).fill(image(picture)) }, /too many images/],
  ["a picture in a failed result", { messages: [failed] }, /must be type `text`/],
  [
    "thinking that it has not given",
    {
      messages: [ask, { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "y" }] }, ask],
    },
    /cannot be modified/,
  ],
])("refuses %s", (_what, body, said) => {
  const found = refusal(body);
  expect(found?.status).toBe(400);
  expect(JSON.stringify(found?.body).replaceAll('\\"', '"')).toMatch(said);
});

test("accepts what the product sends to current models", () => {
  expect(refusal({})).toBeUndefined();
  expect(refusal({ thinking: { type: "between_tools" }, output_config: { effort: "medium" } })).toBeUndefined();
  expect(refusal(tool({ properties: {} }))).toBeUndefined();
  expect(refusal({ messages: [image(picture)] })).toBeUndefined();
});

test("does not find retired models, and finds those that end later", () => {
  for (const model of ["claude-opus-4-1", "claude-sonnet-4-20250514", "claude-3-5-haiku-20241022", "claude-2.1"])
    expect(refusal({ model })).toMatchObject({ status: 404, body: { error: { type: "not_found_error" } } });
  for (const model of ["claude-sonnet-4-5", "claude-opus-4-5-20251101", "claude-opus-4-8"])
    expect(refusal({ model })).toBeUndefined();
});

test("takes the key in either header, a gateway in one alone", () => {
  const version = { "anthropic-version": "2023-06-01" };
  const [bearer, apiKey] = [
    { ...version, authorization: "Bearer k" },
    { ...version, "x-api-key": "k" },
  ];
  expect([bearer, apiKey, version].map((each) => refusal({}, { headers: each })?.status)).toEqual([
    undefined,
    undefined,
    401,
  ]);
  const call = { path: "/v1/messages", body: plain, answers: [], asked: [] };
  expect(refusalOf(apiKeyGatewayRules, { ...call, headers: bearer })?.status).toBe(401);
  expect(refusalOf(apiKeyGatewayRules, { ...call, headers: apiKey })).toBeUndefined();
  expect(refusalOf(bearerGatewayRules, { ...call, headers: apiKey })?.status).toBe(401);
  expect(refusalOf(bearerGatewayRules, { ...call, headers: bearer })).toBeUndefined();
});

test("wants a version of the API that exists", () => {
  expect(refusal({}, { headers: { authorization: "Bearer k" } })?.status).toBe(400);
  expect(refusal({}, { headers: { ...headers, "anthropic-version": "2026-01-01" } })?.status).toBe(400);
});

const frame = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const answer = [
  frame("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  frame("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Now Rome." } }),
  frame("content_block_stop", { index: 0 }),
  frame("content_block_start", { index: 1, content_block: { type: "tool_use", id: "b", name: "t", input: {} } }),
].join("");
const afterResult = [
  ask,
  { role: "assistant", content: [{ type: "tool_use", id: "a", name: "t", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "Rain." }] },
];

test("gives what it says between calls as thinking, with its text only where it is asked for", () => {
  const shaped = (body: object) =>
    shapeClaudeAnswer(
      { path: "/v1/messages", headers, answers: [], asked: [], body: { ...plain, messages: afterResult, ...body } },
      answer,
    );
  expect(shaped({ model: "claude-opus-5-5" })).not.toContain("Now Rome.");
  expect(shaped({ model: "claude-opus-5-5" })).toContain("signature_delta");
  expect(shaped({ thinking: { type: "between_tools" } })).toContain('{"type":"thinking_delta","thinking":"Now Rome."}');
  expect(shaped({ model: "claude-opus-5" })).toBe(answer);
  expect(shaped({ model: "claude-opus-5-5", messages: [ask] })).toBe(answer);
});

test("refuses thinking that comes back after another conversation, and thinking with a block left out", () => {
  const signed = (signature: string) => ({ type: "thinking", thinking: "", signature });
  const blocks = [signed("one"), signed("two"), { type: "tool_use", id: "a", name: "t", input: {} }];
  const answered = blocks.map((block, index) => frame("content_block_start", { index, content_block: block })).join("");
  const again = (content: object[], more: object = {}) =>
    refusal(
      { messages: [ask, { role: "assistant", content }, ...afterResult.slice(2)], ...more },
      { answers: [answered], asked: [plain] },
    );
  expect(again(blocks)).toBeUndefined();
  expect(again(blocks, { output_config: { effort: "low" } })).toBeUndefined();
  expect(JSON.stringify(again(blocks, { system: "Other." }))).toContain("bound to a different conversation");
  expect(JSON.stringify(again(blocks.slice(1)))).toContain("cannot be modified");
});
