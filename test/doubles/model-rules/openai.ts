/** What OpenAI's own service refuses, in Chat Completions and in Responses. */
import type { ModelRule, Refusal } from "./rule.ts";

/** As OpenAI words its errors: `type` is always the same for a wrong request. */
export function openAiRefusal(message: string, more: { param?: string; code?: string; status?: number } = {}): Refusal {
  const { param = null, code = null, status = 400 } = more;
  return { status, body: { error: { message, type: "invalid_request_error", param, code } } };
}

/** GPT-5.6 and all later models, with or without a date. */
function reasonsByDefault(model: unknown): boolean {
  const [, major = "", minor = "0"] = /^gpt-(\d+)(?:\.(\d+))?(?:-|$)/.exec(String(model)) ?? [];
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 6);
}

export const openAiRules: readonly ModelRule[] = [
  {
    says: "GPT-5.6 and later refuse function tools in Chat Completions unless their effort is none, also where it is not sent",
    source: "https://github.com/danny-avila/LibreChat/issues/14231",
    read: "2026-11-27",
    refuse({ path, body }) {
      const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
      if (path !== "/v1/chat/completions" || !hasTools || !reasonsByDefault(body.model)) return undefined;
      if (body.reasoning_effort === "none") return undefined;
      return openAiRefusal(
        `Function tools with reasoning_effort are not supported for ${body.model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        { param: "reasoning_effort" },
      );
    },
  },
];
