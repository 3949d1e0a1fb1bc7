/**
 * How servers of Chat Completions want earlier messages written. Known by the address, or learned from a refusal, which
 * gateways and servers of the same models pass on in the same words.
 */
import { createHash } from "node:crypto";
import type OpenAI from "openai";
import { alternating, bridgeText, joinedParts, joinedText, rolesInRow } from "./request-mapping.ts";

type Message = OpenAI.ChatCompletionMessageParam;

/** The fields by which services give reasoning, and take it back. */
type Thoughtful = OpenAI.ChatCompletionAssistantMessageParam & {
  reasoning?: unknown;
  reasoning_content?: unknown;
  reasoning_details?: unknown;
};

interface HabitRule {
  /** Hosts that are known to want it. */
  host?: RegExp;
  /** How it is asked for. */
  refusal: RegExp;
}

const mistralHost = /(?:^|\.)mistral\.ai$/;

const rules = {
  /** The ids of calls have nine letters and digits. Another model's, or ours, would be refused. */
  shortIds: { host: mistralHost, refusal: /tool call id\b.*\blength of 9/is },
  /** No person speaks between a tool's result and the model, as with a result's pictures. */
  answerBeforePerson: { host: mistralHost, refusal: /unexpected role '?user'? after role '?tool'?/i },
  /** Nobody speaks twice in a row, and no person right after a result. */
  rolesAlternate: { refusal: rolesInRow },
  /** An answer with calls has its reasoning, even if there was none. */
  reasoningAlways: { host: /(?:^|\.)deepseek\.com$/, refusal: /\breasoning_content\b.*must be passed back/is },
  /** What the model thought does not go back: the server does not know the field, or its template has no place for it. */
  reasoningNever: {
    refusal:
      /(?=.*(?:unsupported|not supported|extra_forbidden|not permitted|cannot pass|unknown|unrecogni[sz]ed))(?=.*(?:\breasoning_(?:content|details)\b|\.reasoning:|'reasoning'|content and thinking))/is,
  },
} satisfies Record<string, HabitRule>;

export type Habit = keyof typeof rules;

const entries = Object.entries(rules) as [Habit, HabitRule][];

export function habitsAt(baseUrl: string): Set<Habit> {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return new Set(entries.flatMap(([habit, rule]) => (rule.host?.test(host) ? [habit] : [])));
}

export function habitsIn(refusal: string): Habit[] {
  return entries.flatMap(([habit, rule]) => (rule.refusal.test(refusal) ? [habit] : []));
}

export function fitted(messages: Message[], habits: ReadonlySet<Habit>): Message[] {
  if (habits.size === 0) return messages;
  const fitting = messages.map((message) => withIds(withReasoning(message, habits), habits));
  if (habits.has("rolesAlternate")) return alternating(fitting, bridge, joined);
  return habits.has("answerBeforePerson") ? alternating(fitting, bridge, () => undefined) : fitting;
}

const bridge: Message = { role: "assistant", content: bridgeText };

function joined(one: Message, next: Message): Message | undefined {
  if (one.role === "user" && next.role === "user") {
    const parts = joinedParts([...partsOf(one.content), ...partsOf(next.content)]);
    const [first, ...others] = parts;
    return { role: "user", content: first?.type === "text" && others.length === 0 ? first.text : parts };
  }
  if (one.role !== "assistant" || next.role !== "assistant" || one.tool_calls !== undefined) return undefined;
  return { ...next, content: joinedText(String(one.content ?? ""), String(next.content ?? "")) };
}

function partsOf(content: OpenAI.ChatCompletionUserMessageParam["content"]): OpenAI.ChatCompletionContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function withReasoning(message: Message, habits: ReadonlySet<Habit>): Message {
  if (message.role !== "assistant") return message;
  if (habits.has("reasoningNever")) {
    const { reasoning: _text, reasoning_content: _same, reasoning_details: _parts, ...rest }: Thoughtful = message;
    return rest;
  }
  if (!habits.has("reasoningAlways") || message.tool_calls === undefined) return message;
  return { ...{ reasoning_content: "" }, ...message };
}

function withIds(message: Message, habits: ReadonlySet<Habit>): Message {
  if (!habits.has("shortIds")) return message;
  if (message.role === "tool") return { ...message, tool_call_id: shortId(message.tool_call_id) };
  if (message.role !== "assistant" || message.tool_calls === undefined) return message;
  return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: shortId(call.id) })) };
}

/** The same id for a call and its result. */
function shortId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}
