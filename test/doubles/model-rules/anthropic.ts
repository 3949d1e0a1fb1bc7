/** What Anthropic's own service refuses, and what gateways in front of it do. */

import { cacheRules, shortCacheRule } from "./anthropic-cache.ts";
import { imageRules } from "./anthropic-images.ts";
import { thinkingRules } from "./anthropic-thinking.ts";
import { messagesIn } from "./claude-messages.ts";
import { familiesOf5, isRetired, isSince, maxOutputOf } from "./claude-models.ts";
import { type ModelCall, type ModelRule, pathRule, type Refusal } from "./rule.ts";
import { anthropicSchemaRules } from "./tool-schemas.ts";

/** As Anthropic words its errors. */
function anthropicRefusal(message: string, status = 400, type = "invalid_request_error"): Refusal {
  return { status, body: { type: "error", error: { type, message }, request_id: "req_double" } };
}

const read = "2026-11-27";
const docs = "https://platform.claude.com/docs/en";

const noKey: ModelRule = {
  says: "a request without a key is refused; x-api-key and a bearer token both count",
  source: `${docs}/api/overview`,
  read,
  refuse: ({ headers }) =>
    headers["x-api-key"] !== undefined || /^Bearer \S/.test(headers.authorization ?? "")
      ? undefined
      : anthropicRefusal("x-api-key header is required", 401, "authentication_error"),
};

const atMessages = pathRule(
  ["/v1/messages", "/v1/messages/count_tokens"],
  "https://github.com/danielmiessler/Fabric/issues/1140",
  anthropicRefusal("Not Found", 404, "not_found_error").body,
);

export const anthropicRules: readonly ModelRule[] = [
  atMessages,
  noKey,
  {
    says: "only known values of anthropic-version are accepted, and one is required",
    source: `${docs}/api/versioning`,
    read,
    refuse({ headers }) {
      const version = headers["anthropic-version"];
      if (version === undefined) return anthropicRefusal("anthropic-version: header is required");
      return ["2023-06-01", "2026-10-21"].includes(String(version))
        ? undefined
        : anthropicRefusal(`anthropic-version: ${JSON.stringify(version)} is not a valid version`);
    },
  },
  {
    says: "retired models are not found",
    source: `${docs}/about-claude/model-deprecations`,
    read,
    refuse: ({ body }) =>
      isRetired(body.model) ? anthropicRefusal(`model: ${body.model}`, 404, "not_found_error") : undefined,
  },
  {
    says: "no model takes sampling parameters since version 2026-10-21",
    source: "https://codersera.com/blog/anthropic-api-2026-10-21-sdk-migration-guide-2026",
    read,
    refuse({ body }) {
      const sampling = ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined);
      return sampling === undefined ? undefined : anthropicRefusal(`\`${sampling}\` is not supported for this model.`);
    },
  },
  {
    says: "the 5.5 models and Fable 5.1 refuse a forced tool",
    source: `${docs}/models/sonnet-5-5/whats-new-sonnet-5-5`,
    read,
    refuse({ body }) {
      const { type } = Object(body.tool_choice);
      const isForced = type === "any" || type === "tool";
      return isForced && isSince(body.model, { opus: 505, sonnet: 505, fable: 501, mythos: 501 })
        ? anthropicRefusal('tool_choice: type "tool" and "any" are not supported for this model.')
        : undefined;
    },
  },
  {
    says: "an answer can't be prefilled on Claude 4.6 and later",
    source: `${docs}/api/errors`,
    read,
    refuse: ({ body }) =>
      messagesIn(body).at(-1)?.role === "assistant" &&
      isSince(body.model, { opus: 406, sonnet: 406, haiku: 505, ...familiesOf5 })
        ? anthropicRefusal(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
          )
        : undefined,
  },
  {
    says: "max_tokens may not exceed what the model can say",
    source: `${docs}/about-claude/models/overview`,
    read,
    refuse({ body }) {
      const most = maxOutputOf(body.model);
      return Number(body.max_tokens) > most
        ? anthropicRefusal(
            `max_tokens: ${body.max_tokens} > ${most}, which is the maximum allowed number of output tokens for ${body.model}`,
          )
        : undefined;
    },
  },
  {
    says: "effort exists from Opus 4.5, Sonnet 4.6 and Haiku 5.5 on",
    source: `${docs}/build-with-claude/effort`,
    read,
    refuse({ body }) {
      const { effort } = Object(body.output_config);
      if (effort === undefined) return undefined;
      if (!["low", "medium", "high", "xhigh", "max"].includes(effort))
        return anthropicRefusal("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
      return isSince(body.model, { opus: 405, sonnet: 406, haiku: 505, ...familiesOf5 })
        ? undefined
        : anthropicRefusal("This model does not support the effort parameter.");
    },
  },
  {
    says: "a tool's schema is an object without oneOf, allOf or anyOf at its top",
    source: "https://github.com/anthropics/claude-code/issues/40075",
    read,
    refuse: ({ body }) => refusedSchema(body),
  },
  ...anthropicSchemaRules(
    ({ body }) =>
      [body.tools ?? []].flat().map((tool) => ({
        ...{ name: String(Object(tool).name), parameters: Object(Object(tool).input_schema) },
      })),
    (text, _tool, index) => anthropicRefusal(`tools.${index}.custom.${text}`),
  ),
  ...cacheRules(anthropicRefusal),
  ...thinkingRules(anthropicRefusal),
  ...imageRules(anthropicRefusal),
];

function refusedSchema(body: Record<string, unknown>): Refusal | undefined {
  const tools: unknown[] = Array.isArray(body.tools) ? body.tools : [];
  for (const [index, tool] of tools.entries()) {
    const schema = Object(Object(tool).input_schema);
    const place = `tools.${index}.custom.input_schema`;
    if (schema.type !== "object") return anthropicRefusal(`${place}.type: Field required`);
    if (["oneOf", "allOf", "anyOf"].some((name) => name in schema))
      return anthropicRefusal(`${place}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  }
  return undefined;
}

const wrongKey = anthropicRefusal("invalid x-api-key", 401, "authentication_error");

/** A gateway that was written before SDKs sent the key as a bearer token. */
export const apiKeyGatewayRules: readonly ModelRule[] = [
  atMessages,
  {
    says: "proxies that read x-api-key only refuse the requests of SDKs that send a bearer token only",
    source: "https://codersera.com/blog/anthropic-api-2026-10-21-sdk-migration-guide-2026",
    read,
    refuse: ({ headers }: ModelCall) => (headers["x-api-key"] === undefined ? wrongKey : undefined),
  },
];

export const bedrockGatewayRules: readonly ModelRule[] = [atMessages, shortCacheRule];

export const bearerGatewayRules: readonly ModelRule[] = [
  atMessages,
  {
    says: "gateways such as Cloudflare's read the bearer token only",
    source: "https://github.com/BerriAI/litellm/issues/33055",
    read,
    refuse: ({ headers }: ModelCall) => (/^Bearer \S/.test(headers.authorization ?? "") ? undefined : wrongKey),
  },
];
