/** What rules for services with OpenAI's Chat Completions share. */
import { estimateTokens } from "../../../src/context/tokens.ts";
import type { ModelCall, ModelRule } from "./rule.ts";

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
