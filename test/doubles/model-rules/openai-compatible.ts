/** What other services refuse that speak OpenAI's protocols. */
import { functionsIn } from "./chat.ts";
import { openAiRefusal, openAiRules } from "./openai.ts";
import { type ModelCall, type ModelRule, pathRule, type Refusal } from "./rule.ts";
import { googleSchemaRules } from "./tool-schemas.ts";

const read = "2026-11-27";

interface Message {
  role?: string;
  tool_calls?: { extra_content?: { google?: { thought_signature?: unknown } } }[];
  reasoning_details?: { type?: unknown; index?: unknown; id?: unknown }[];
}

const isChat = ({ path }: ModelCall) => path.endsWith("/chat/completions");
const messagesOf = ({ body }: ModelCall) => (Array.isArray(body.messages) ? (body.messages as Message[]) : []);
/** The steps of the running turn that called tools. */
const stepsOf = (call: ModelCall) => {
  const messages = messagesOf(call);
  const from = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(from).filter(({ tool_calls: calls = [] }) => calls.length > 0);
};

/** Google wraps errors in a list at its OpenAI address. */
function googleRefusal(message: string): Refusal {
  return { status: 400, body: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }] };
}

/** Google's own word for calls of other models. */
const skipsCheck = "skip_thought_signature_validator";

const googleRules: readonly ModelRule[] = [
  {
    says: "each step's first call goes back with its thought signature",
    source: "https://ai.google.dev/gemini-api/docs/thought-signatures",
    read,
    refuse(call) {
      const isKnown = (text: unknown) =>
        text === skipsCheck || (typeof text === "string" && call.answers.some((answer) => answer.includes(text)));
      const at = stepsOf(call).findIndex(
        ({ tool_calls: [first] = [] }) => !isKnown(first?.extra_content?.google?.thought_signature),
      );
      if (at === -1) return undefined;
      const text = `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call , position ${at + 2}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
      return googleRefusal(text);
    },
  },
  {
    says: "a call comes with its signature",
    source: "https://github.com/continuedev/continue/issues/8865",
    read,
    answer: ({ answers }, frames) =>
      frames.map((frame) =>
        frame.replace(
          /"tool_calls":\[\{"index":0,"id"/,
          `"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"c2lnbmVk${answers.length}"}},"id"`,
        ),
      ),
  },
  {
    says: "fields that the protocol has elsewhere are unknown",
    source: "https://github.com/liliMozi/openhanako/issues/394",
    read,
    refuse({ body }) {
      const unknown = ["store", "reasoning", "metadata", "prompt_cache_key"].filter((name) => body[name] !== undefined);
      if (unknown.length === 0) return undefined;
      return googleRefusal(
        unknown.map((name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`).join("\n"),
      );
    },
  },
];

export const geminiRules: readonly ModelRule[] = [
  pathRule(["/v1beta/openai/chat/completions"], "https://github.com/musistudio/claude-code-router/issues/651", ""),
  ...googleRules,
  ...googleSchemaRules(functionsIn, (text, _tool, index) =>
    googleRefusal(`GenerateContentRequest.tools[0].function_declarations[${index}].parameters: ${text}`),
  ),
];

export const vertexRules: readonly ModelRule[] = [
  pathRule(
    ["/v1/projects/your-project/locations/global/endpoints/openapi/chat/completions"],
    "https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview",
    "",
  ),
  ...googleRules,
];

/** A deployment has any name, so the double tells the model by it: every one reasons, and some lack one of the APIs. */
export const azureRules: readonly ModelRule[] = [
  pathRule(
    ["/openai/v1/responses", "/openai/v1/chat/completions"],
    "https://github.com/clusterzx/paperless-ai/issues/246",
    { error: { code: "404", message: "Resource not found" } },
  ),
  {
    says: "a deployment of a reasoning model refuses max_tokens, and names the other field",
    source: "https://github.com/owndev/Open-WebUI-Functions/issues/136",
    read,
    refuse(call) {
      if (!isChat(call) || call.body.max_tokens === undefined) return undefined;
      const text =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
      return openAiRefusal(text, { param: "max_tokens", code: "unsupported_parameter" });
    },
  },
  {
    says: "some models have no Chat Completions",
    source: "https://github.com/langchain-ai/langchain-azure/issues/228",
    read,
    refuse(call) {
      if (!isChat(call) || !String(call.body.model).includes("responses-only")) return undefined;
      const message = `The chatCompletion operation does not work with the specified model, ${call.body.model}. Please choose different model and try again. You can learn more about which models can be used with each operation here: https://go.microsoft.com/fwlink/?linkid=2197993.`;
      return { status: 400, body: { error: { code: "OperationNotSupported", message } } };
    },
  },
  {
    says: "some resources have no Responses API",
    source: "https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/responses",
    read,
    refuse({ path, body }) {
      if (!path.endsWith("/responses") || !String(body.model).includes("chat-only")) return undefined;
      return { status: 404, body: { error: { code: "404", message: "Resource not found" } } };
    },
  },
];

export const openRouterRules: readonly ModelRule[] = [
  pathRule(
    ["/api/v1/chat/completions", "/api/v1/responses", "/api/v1/messages"],
    "https://github.com/vellum-ai/vellum-assistant/pull/25930",
    "<!DOCTYPE html><html><head><title>Not Found | OpenRouter</title></head></html>",
  ),
  {
    says: "Gemini needs its reasoning details back, and the service says what it said",
    source: "https://github.com/hotovo/aider-desk/issues/513",
    read,
    refuse(call) {
      const lacks = stepsOf(call).some(({ reasoning_details: details = [] }) => details.length === 0);
      if (!String(call.body.model).startsWith("google/") || !lacks) return undefined;
      const raw = "Gemini models require OpenRouter reasoning details to be preserved in each request.";
      const metadata = { raw, provider_name: "Google" };
      return { status: 400, body: { error: { message: "Provider returned error", code: 400, metadata } } };
    },
  },
  {
    says: "pieces of one reasoning detail are put together before they go back",
    source: "https://github.com/langchain-ai/langchain/issues/36400",
    read,
    refuse(call) {
      const isInPieces = messagesOf(call).some(({ reasoning_details: details = [] }) => {
        const places = details.flatMap(({ type, index, id }) => (index === undefined ? [] : `${type} ${index} ${id}`));
        return new Set(places).size < places.length;
      });
      return isInPieces ? { status: 400, body: { error: { message: "Invalid input", code: 400 } } } : undefined;
    },
  },
];

export const xaiRules: readonly ModelRule[] = [
  pathRule(["/v1/responses", "/v1/chat/completions"], "https://github.com/feiskyer/chatgpt-copilot/issues/439", {
    error: {
      code: 404,
      message:
        "The requested resource was not found. Please check the URL and try again. Documentation is available at https://docs.x.ai/",
    },
  }),
  {
    says: "models without levels refuse the effort, whatever its value",
    source: "https://github.com/acedergren/opencode-oci-provider/releases/tag/v0.2.3",
    read,
    refuse({ body }) {
      const isSent = body.reasoning_effort !== undefined || body.reasoning !== undefined;
      if (!isSent || !String(body.model).startsWith("grok-build")) return undefined;
      const error = `Model ${body.model} does not support parameter reasoningEffort.`;
      return { status: 400, body: { code: "invalid-argument", error } };
    },
  },
];

/** A gateway in front of OpenAI's models that has Chat Completions alone. */
export const gatewayRules: readonly ModelRule[] = [
  pathRule(["/v1/chat/completions"], "https://github.com/Cognipeer/console/pull/241", { detail: "Not Found" }),
  ...openAiRules,
];
