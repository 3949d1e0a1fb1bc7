/** What OpenAI's own service refuses, in Chat Completions and in Responses. */

import { type ModelCall, type ModelRule, pathRule, type Refusal } from "./rule.ts";
import { openAiSchemaRules } from "./tool-schemas.ts";

/** As OpenAI words its errors: `type` is always the same for a wrong request. */
export function openAiRefusal(message: string, more: { param?: string; code?: string; status?: number } = {}): Refusal {
  const { param = null, code = null, status = 400 } = more;
  return { status, body: { error: { message, type: "invalid_request_error", param, code } } };
}

const read = "2026-11-27";
const openAiEfforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const maxTools = 128;
const minOutputTokens = 16;

interface Tool {
  name?: string;
  strict?: boolean;
  parameters?: Schema;
  function?: Tool;
}

interface Schema {
  type?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  items?: Schema;
}

type Item = Record<string, unknown>;

const isChat = ({ path }: ModelCall) => path === "/v1/chat/completions";
const isResponses = ({ path }: ModelCall) => path === "/v1/responses";
const listOf = (value: unknown) => (Array.isArray(value) ? (value as Item[]) : []);
const toolsOf = ({ body }: ModelCall) => listOf(body.tools).map((tool: Tool) => tool.function ?? tool);

/** The effort that a request asks for, and the field's name in its API. */
function effortOf(call: ModelCall): { value: unknown; field: string } {
  if (isChat(call)) return { value: call.body.reasoning_effort, field: "reasoning_effort" };
  return { value: (call.body.reasoning as { effort?: unknown } | undefined)?.effort, field: "reasoning.effort" };
}

/** `gpt-5.6-terra` is 5.6. Undefined for names of other families. */
function versionOf(model: unknown): number | undefined {
  const [, version] = /^gpt-(\d+(?:\.\d+)?)(?:-|$)/.exec(String(model)) ?? [];
  return version === undefined ? undefined : Number(version);
}

function reasons(model: unknown): boolean {
  return /^o\d/.test(String(model)) || ((versionOf(model) ?? 0) >= 5 && !/-chat\b/.test(String(model)));
}

function reasonsByDefault(model: unknown): boolean {
  return reasons(model) && (versionOf(model) ?? 0) >= 5.6;
}

/** The levels that a reasoning model has. */
function effortsOf(model: unknown, api: "chat" | "responses"): string[] {
  const name = String(model);
  const version = versionOf(model) ?? 0;
  const levels = (first: string, last: string) =>
    openAiEfforts.slice(openAiEfforts.indexOf(first), openAiEfforts.indexOf(last) + 1);
  if (version === 0) return levels("low", "high");
  if (version === 5) return levels("minimal", "high");
  const last = version === 5.1 ? "high" : version < 5.6 ? "xhigh" : "max";
  if (/-astra\b/.test(name) || version >= 6.1) return levels("low", api === "chat" ? "xhigh" : "max");
  return levels("none", last).filter((level) => level !== "minimal");
}

function isStrict(schema: Schema | undefined): boolean {
  if (schema?.type !== "object") return true;
  const names = Object.keys(schema.properties ?? {});
  return (
    schema.additionalProperties === false &&
    names.every((name) => schema.required?.includes(name)) &&
    Object.values(schema.properties ?? {}).every(isStrict)
  );
}

const chatRules: readonly ModelRule[] = [
  {
    says: "GPT-5.6 and later refuse function tools in Chat Completions unless their effort is none, also where it is not sent",
    source: "https://github.com/danny-avila/LibreChat/issues/14231",
    read,
    refuse(call) {
      const { model } = call.body;
      const { value } = effortOf(call);
      if (!isChat(call) || toolsOf(call).length === 0 || value === "none") return undefined;
      // GPT-5.4 does not reason by default, and refuses tools only if it is told to.
      const isTold = value !== undefined && (versionOf(model) ?? 0) >= 5.2 && reasons(model);
      if (!reasonsByDefault(model) && !isTold) return undefined;
      const what = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`;
      const todo = reasonsByDefault(model)
        ? "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        : "Please use /v1/responses instead.";
      return openAiRefusal(`${what} ${todo}`, { param: "reasoning_effort" });
    },
  },
  {
    says: "reasoning models take the limit as max_completion_tokens only",
    source: "https://github.com/tailcallhq/forgecode/issues/1081",
    read,
    refuse(call) {
      if (!isChat(call) || call.body.max_tokens === undefined || !reasons(call.body.model)) return undefined;
      const text =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
      return openAiRefusal(text, { param: "max_tokens", code: "unsupported_parameter" });
    },
  },
];

const responsesRules: readonly ModelRule[] = [
  {
    says: "an answer of the Responses API may not be limited to fewer than 16 tokens",
    source: "https://github.com/vectorize-io/hindsight/issues/58",
    read,
    refuse(call) {
      const limit = call.body.max_output_tokens;
      if (!isResponses(call) || typeof limit !== "number" || limit >= minOutputTokens) return undefined;
      const text = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${minOutputTokens}, but got ${limit} instead.`;
      return openAiRefusal(text, { param: "max_output_tokens", code: "integer_below_min_value" });
    },
  },
  {
    says: "models that do not reason have no encrypted reasoning",
    source: "https://github.com/pydantic/pydantic-ai/issues/3326",
    read,
    refuse(call) {
      const isAsked = listOf(call.body.include).some((each) => String(each) === "reasoning.encrypted_content");
      if (!isResponses(call) || !isAsked || reasons(call.body.model)) return undefined;
      return openAiRefusal("Encrypted content is not supported with this model.", { param: "include" });
    },
  },
  {
    says: "encrypted reasoning is read by nobody but the service that gave it",
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/1793",
    read,
    refuse(call) {
      if (!isResponses(call)) return undefined;
      const foreign = listOf(call.body.input).find(
        ({ type, encrypted_content: text }) =>
          type === "reasoning" && typeof text === "string" && !call.answers.some((answer) => answer.includes(text)),
      );
      if (foreign === undefined) return undefined;
      const text = `The encrypted content ${String(foreign.encrypted_content).slice(0, 4)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
      return openAiRefusal(text, { code: "invalid_encrypted_content" });
    },
  },
  {
    says: "reasoning is followed by what it led to",
    source: "https://github.com/continuedev/continue/issues/8933",
    read,
    refuse(call) {
      const input = listOf(call.body.input);
      const lone = input.find(({ type }, index) => {
        const next = input[index + 1];
        const isFollowed = next?.type === "reasoning" || next?.type === "function_call" || next?.role === "assistant";
        return type === "reasoning" && !isFollowed;
      });
      if (!isResponses(call) || lone === undefined) return undefined;
      const text = `Item '${lone.id}' of type 'reasoning' was provided without its required following item.`;
      return openAiRefusal(text, { param: "input" });
    },
  },
];

/** Every breakpoint of a prompt, with what it stands at: the parts of messages, and of results. */
function breakpointsIn({ body }: ModelCall): { role: unknown; mark: unknown }[] {
  return [...listOf(body.messages), ...listOf(body.input)].flatMap((message) =>
    [...listOf(message.content), ...listOf(message.output)].flatMap((part) =>
      part.prompt_cache_breakpoint === undefined
        ? []
        : [{ role: message.role ?? "tool", mark: part.prompt_cache_breakpoint }],
    ),
  );
}

const caching = "https://developers.openai.com/api/docs/guides/prompt-caching";

const cacheRules: readonly ModelRule[] = [
  {
    says: "only GPT-5.6 and later know breakpoints, which stand at what the model did not say",
    source: caching,
    read: "2026-11-28",
    refuse(call) {
      const marks = breakpointsIn(call);
      if (marks.length === 0) return undefined;
      const param = "input[0].content[0].prompt_cache_breakpoint";
      if ((versionOf(call.body.model) ?? 0) < 5.6)
        return openAiRefusal(`Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
      const isWrong = marks.some(({ role, mark }) => role === "assistant" || Object(mark).mode !== "explicit");
      return isWrong ? openAiRefusal(`Invalid value: '${param}'.`, { param, code: "invalid_value" }) : undefined;
    },
  },
  {
    says: "the key of the cache has at most 64 characters",
    source: "https://github.com/openai/codex/issues/35300",
    read: "2026-11-28",
    refuse({ body: { prompt_cache_key: key } }) {
      const most = 64;
      if (typeof key !== "string" || key.length <= most) return undefined;
      const text = `Invalid 'prompt_cache_key': string too long. Expected a string with maximum length ${most}, but got a string with length ${key.length} instead.`;
      return openAiRefusal(text, { param: "prompt_cache_key", code: "string_above_max_length" });
    },
  },
  {
    says: "other services' breakpoints and keys are unknown",
    source: "https://github.com/coder/mux/pull/3712",
    read: "2026-11-28",
    refuse({ body }) {
      const param = ["cache_control", "session_id"].find((name) => JSON.stringify(body).includes(`"${name}":`));
      if (param === undefined) return undefined;
      return openAiRefusal(`Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
    },
  },
];

/** For both APIs. */
const commonRules: readonly ModelRule[] = [
  {
    says: "reasoning models have no temperature and no top_p",
    source: "https://github.com/BerriAI/litellm-docs/pull/1173",
    read,
    refuse({ body }) {
      const field = ["temperature", "top_p"].find((name) => body[name] !== undefined);
      if (field === undefined || !reasons(body.model)) return undefined;
      const text = `Unsupported parameter: '${field}' is not supported with this model.`;
      return openAiRefusal(text, { param: field, code: "unsupported_parameter" });
    },
  },
  {
    says: "a model has the efforts that its page lists, and others have none",
    source: "https://developers.openai.com/api/docs/models/gpt-6-luna",
    read,
    refuse(call) {
      const { value, field } = effortOf(call);
      if (value === undefined || value === null) return undefined;
      if (!reasons(call.body.model))
        return openAiRefusal(`Unsupported parameter: '${field}' is not supported with this model.`, {
          ...{ param: field, code: "unsupported_parameter" },
        });
      const known = effortsOf(call.body.model, isChat(call) ? "chat" : "responses");
      if (known.includes(String(value))) return undefined;
      const values = known.map((level) => `'${level}'`).join(", ");
      const text = `Unsupported value: '${field}' does not support '${value}' with this model. Supported values are: ${values}.`;
      return openAiRefusal(text, { param: field, code: "unsupported_value" });
    },
  },
  {
    says: "a request has at most 128 tools",
    source: "https://github.com/zed-industries/zed/issues/42393",
    read,
    refuse(call) {
      const { length } = toolsOf(call);
      if (length <= maxTools) return undefined;
      const text = `Invalid 'tools': array too long. Expected an array with maximum length ${maxTools}, but got an array with length ${length} instead.`;
      return openAiRefusal(text, { param: "tools", code: "array_above_max_length" });
    },
  },
  {
    says: "the parameters of a tool have properties, if only none",
    source: "https://github.com/langchain-ai/langchain-mcp-adapters/issues/137",
    read,
    refuse(call) {
      const tool = toolsOf(call).find(
        ({ parameters }) => parameters?.type === "object" && parameters.properties === undefined,
      );
      if (tool === undefined) return undefined;
      const text = `Invalid schema for function '${tool.name}': In context=(), object schema missing properties.`;
      return openAiRefusal(text, { param: "tools[0].function.parameters", code: "invalid_function_parameters" });
    },
  },
  {
    says: "a strict schema requires every property and allows no others",
    source: "https://developers.openai.com/api/docs/guides/structured-outputs",
    read,
    refuse(call) {
      const tool = toolsOf(call).find(({ strict, parameters }) => strict === true && !isStrict(parameters));
      if (tool === undefined) return undefined;
      const text = `Invalid schema for function '${tool.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
      return openAiRefusal(text, { param: "tools[0].parameters", code: "invalid_function_parameters" });
    },
  },
];

const atItsAddress = pathRule(
  ["/v1/responses", "/v1/chat/completions"],
  "https://github.com/harry0703/MoneyPrinterTurbo/issues/57",
  (path: string) => openAiRefusal(`Invalid URL (POST ${path})`).body,
);

export const openAiRules: readonly ModelRule[] = [
  atItsAddress,
  ...chatRules,
  ...responsesRules,
  ...commonRules,
  ...openAiSchemaRules(
    (call) => toolsOf(call).map(({ name = "", parameters = {} }) => ({ name, parameters: { ...parameters } })),
    (text, _tool, index) =>
      openAiRefusal(text, { param: `tools[${index}].parameters`, code: "invalid_function_parameters" }),
  ),
  ...cacheRules,
];
