/** What rules for services with OpenAI's Chat Completions share. */
import { estimateTokens } from "../../../src/context/tokens.ts";
import type { ModelCall, ModelRule, Refusal } from "./rule.ts";
import type { SentTool } from "./tool-schemas.ts";

export const read = "2026-11-27";

export interface ChatMessage {
  role: string;
  content?: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
  [field: string]: unknown;
}

export const messagesIn = ({ body }: ModelCall): ChatMessage[] => (Array.isArray(body.messages) ? body.messages : []);
export const hasTools = ({ body }: ModelCall): boolean => Array.isArray(body.tools) && body.tools.length > 0;
export const functionsIn = ({ body }: ModelCall): SentTool[] =>
  [body.tools ?? []].flat().map((tool) => {
    const { name, parameters } = Object(Object(tool).function ?? tool);
    return { name: String(name), parameters: Object(parameters) };
  });
export const limitIn = ({ body }: ModelCall): number => Number(body.max_completion_tokens ?? body.max_tokens ?? 0);
export const promptTokens = ({ body }: ModelCall): number =>
  estimateTokens(JSON.stringify([body.messages, body.tools]));

/** Lets the model think before it answers, as the service streams it. */
export function thoughts(says: string, source: string, delta: (thought: string) => object): ModelRule {
  return { says, source, read, answer: (call, frames) => [...thoughtFrames(call, delta), ...frames] };
}

export function thoughtFrames(call: ModelCall, delta: (thought: string) => object): string[] {
  return ["I should look ", `it up, step ${messagesIn(call).length}.`].map((thought) => {
    const choices = [{ index: 0, delta: delta(thought), finish_reason: null }];
    return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: call.body.model, choices })}`;
  });
}

/** The words of Gemma's template, which many others share. */
export const rolesAlternate = "Conversation roles must alternate user/assistant/user/assistant/...";

/** Gemma's template refuses two messages of one role in a row; results of tools stand for what a user says. */
export function alternation(source: string, refusal: Refusal): ModelRule {
  return {
    says: "Gemma's template takes only messages whose roles alternate",
    source,
    read: "2026-11-28",
    refuse(call) {
      if (!String(call.body.model).includes("gemma")) return undefined;
      const roles = messagesIn(call).flatMap(({ role }) => (role === "system" ? [] : role.replace("tool", "user")));
      const isInRow = (role: string, index: number) => role === roles[index - 1];
      const isParallel = messagesIn(call).some(({ tool_calls: calls = [] }) => calls.length > 1);
      return !isParallel && roles.some(isInRow) ? refusal : undefined;
    },
  };
}
