/** Counts model use per UTC day and subject: a person, a channel, a conversation, or everyone. */
import type { Scope } from "./message.ts";

import type { Usage } from "./provider.ts";

import type { TurnRecord } from "./turn.ts";

export interface UsageCount extends Usage {
  /** For example `2026-11-21`, in UTC. */
  day: string;
  calls: number;
  /** Covers only calls whose model has a price. */
  cost: number;
  unpricedCalls: number;
  /** Time that Remora itself needed before it called the models. */
  addedMs: number;
}

export interface UsageLimits {
  /** Tokens per UTC day; null for no limit. */
  userTokensPerDay: number | null;
  channelTokensPerDay: number | null;
}

export interface ModelCall {
  model: string;
  usage: Usage;
  addedMs: number;
}

export type Permit =
  | {
      type: "admitted";
      count(call: ModelCall): Promise<void>;
      end(): void;
    }
  /** `sentence` says which limit was reached and when it resets. */
  | { type: "refused"; code: string; sentence: string };

export interface UsageMeter {
  /** Checks the limits. A count that can't be read or written is logged and never prevents an answer. */
  admit(turn: TurnRecord): Promise<Permit>;
  days(subject: string): Promise<UsageCount[]>;
  prune(): Promise<void>;
}

export const usageSubject = {
  user: (platform: string, userId: string) => `user:${platform}:${userId}`,
  scope: (platform: string, scope: Scope) => `scope:${platform}:${scope}`,
  conversation: (conversationId: string) => `conversation:${conversationId}`,
  everyone: "everyone",
};

export function tokensOf(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

/** `day` is the later of the two days. */
export function summed(one: UsageCount, other: UsageCount): UsageCount {
  return {
    day: one.day > other.day ? one.day : other.day,
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cost: one.cost + other.cost,
    unpricedCalls: one.unpricedCalls + other.unpricedCalls,
    addedMs: one.addedMs + other.addedMs,
  };
}

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
