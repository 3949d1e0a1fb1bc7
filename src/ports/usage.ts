/** What the models were used for, by UTC day and subject: a person, a channel, a conversation, or everyone. */
import type { Scope } from "./message.ts";

import type { Usage } from "./provider.ts";

import type { TurnRecord } from "./turn.ts";

export interface UsageCount extends Usage {
  /** `2026-11-21`, UTC. */
  day: string;
  calls: number;
  /** Of the calls whose model has a price; the others are in `unpricedCalls`. */
  cost: number;
  unpricedCalls: number;
  /** Milliseconds that passed here before models were asked. */
  addedMs: number;
}

export interface UsageLimits {
  /** Tokens a UTC day; null: as many as they like. */
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
  /** `sentence` says whose limit it is and when it starts anew. */
  | { type: "refused"; code: string; sentence: string };

export interface UsageMeter {
  /** A figure that can't be read or written is logged, and never keeps anybody from an answer. */
  admit(turn: TurnRecord): Promise<Permit>;
  /** Newest day first; none before anything was counted. */
  days(subject: string): Promise<UsageCount[]>;
  /** Drops figures older than the two months that are kept. */
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

/** The figures of several days as one; `day` is the later one. */
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
