/** Counts model use per UTC day and subject, and holds calls within the limits on tokens and dollars. */
import type { Author, InboundMessage, Scope } from "./message.ts";
import type { Usage } from "./provider.ts";
import { requesterOf, type TurnRecord } from "./turn.ts";

export interface UsageCount extends Usage {
  /** For example `2026-11-21`, in UTC. */
  day: string;
  calls: number;
  /** US dollars. Covers only calls whose model has a price. */
  cost: number;
  unpricedCalls: number;
  /** Calls whose provider reported no tokens, or which broke off. Their tokens are estimated. */
  estimatedCalls?: number;
  /** Time that Remora itself needed before it called the models. */
  addedMs: number;
  /** By model. Only in the count of everyone, and absent in old ones. */
  resent?: Readonly<Record<string, Resent>>;
}

/** Requests that begin with what the one before in their conversation had sent moments ago. */
export interface Resent {
  calls: number;
  /** What they sent again, and how much of it was read from the service's cache. */
  tokens: number;
  read: number;
  /** What they wrote to the cache, new or again. */
  written: number;
}

/** The count of a subject. For a subject with limits, it also holds what running calls may use. */
export interface UsageRecord extends UsageCount {
  /** A person's display name when it was last seen. */
  name?: string;
  held?: Reservation[];
  /** Each entry adds to the budget. */
  continued?: { by: string; at: number; dollars: number }[];
  /** Who was asked for the addition with this number, counted from 0. */
  asked?: { addition: number; turnId: string };
  declined?: { addition: number; by: string };
}

/** Reserved for a running call, until its real use is counted. */
export interface Reservation {
  id: string;
  /** Empty for a call before its turn. */
  turnId: string;
  /** Of a call besides the turn's steps, so no later step replaces it. */
  isAside?: true;
  tokens: number;
  dollars: number;
  /** Counted if the call's process dies, because its provider has probably charged the prompt. */
  promptTokens: number;
  promptDollars: number;
  expiresAt: number;
}

export interface DollarLimits {
  /** Of one request. */
  turn: number | null;
  /** Per UTC day. */
  user: number | null;
  channel: number | null;
  /** Of one run of a schedule, instead of `turn`. */
  scheduleRun: number | null;
  /** Of all runs of a schedule per UTC day. */
  schedule: number | null;
  /** What Continue adds. */
  step: number;
  /** What happens to a call whose model has no price while a budget applies to it. */
  unpriced: "refuse" | "allow";
}

export interface UsageLimits {
  /** Tokens per UTC day; null for no limit. */
  userTokensPerDay: number | null;
  channelTokensPerDay: number | null;
  dollars: DollarLimits;
}

export type BudgetKind = "turn" | "user" | "channel" | "scheduleRun" | "schedule";

/** A budget in dollars that is used up, or nearly. */
export interface BudgetAsk {
  /** Of the ledger entry that holds the budget. */
  id: string;
  kind: BudgetKind;
  /** A person's display name for `user`, which is not trusted. */
  name: string;
  /** The number of the addition that is asked for, counted from 0. */
  addition: number;
  used: number;
  limit: number;
  step: number;
  /** End of the budget's day. Null for a turn. */
  endsAt: number | null;
}

export interface ModelCall {
  model: string;
  usage: Usage;
  addedMs: number;
  /** Used if the provider reports no tokens. */
  promptTokens?: number;
  answerCharacters?: number;
  /** The call broke off after it had begun to answer, so its usage is unknown. */
  isBroken?: boolean;
  /** US dollars. Absent if they follow from the tokens. */
  cost?: number;
}

/** A call besides the steps of a turn, which can run at the same time as they do. */
export interface SideCall {
  /** Absent if it is the model of the conversation. Other models count as calls only for themselves and for everyone. */
  model?: string;
  /** The most that a call of `model` can cost, or the most tokens of its prompt. */
  dollars?: number;
  promptTokens?: number;
  /** False: while running calls may use up the rest, it is refused at once. */
  waits?: boolean;
}

export interface CountedCall {
  usage: Usage;
  /** US dollars. Absent if the model has no price. */
  cost?: number;
  isEstimated?: boolean;
}

export interface AdmittedCall {
  type: "admitted";
  /** Budgets of which most is used, and of which nobody has been asked yet. */
  asks: BudgetAsk[];
  /** Who declined to add to a budget of which most is used. The call must be the turn's last one. */
  declinedBy?: string;
  /** Admitted although a budget is used up, because the model is free. No other model may answer instead. */
  isWithoutFallback?: boolean;
  /** `written` resolves once the count is in the ledger. It never rejects. */
  count(call: ModelCall): CountedCall & { written: Promise<void> };
  /** Releases what is left of the reservation. Calling it again does no harm. */
  end(): Promise<void>;
}

export type Permit =
  | AdmittedCall
  /** `sentence` says which limit was reached and when it resets. */
  | { type: "refused"; code: string; sentence: string }
  /** The budget is used up, and people can add to it. `sentence` and `done`, what was and was not done, are for the case that nobody does. */
  | { type: "asks"; ask: BudgetAsk; code: string; sentence: string; done: string };

export interface UsageMeter {
  /** Checks the limits and reserves the most that the call can use. */
  admit(turn: TurnRecord, signal?: AbortSignal): Promise<Permit>;
  /** Like `admit`, for a call besides the turn's steps. A model without a price is not refused. */
  admitAside(payer: Payer, call: SideCall, signal?: AbortSignal): Promise<Permit>;
  /** The budgets of the turn's day of which most is used, and of which nobody has been asked yet. */
  asks(turn: TurnRecord): Promise<BudgetAsk[]>;
  /** Counts a call that belongs to no turn, for everyone. Never rejects. */
  record(call: { model: string; usage: Usage }): Promise<void>;
  days(subject: string): Promise<UsageRecord[]>;
  budgets(place: BudgetPlace): Promise<BudgetState[]>;
  overview(): Promise<UsageOverview>;
  prune(): Promise<void>;
}

/** Whose budgets apply, and where. */
export interface BudgetPlace {
  platform: string;
  user: Pick<Author, "id" | "name">;
  scope: Scope;
  turnId?: string;
  scheduleId?: string;
}

/** Whom a call is counted for. */
export interface Payer extends BudgetPlace {
  conversationId: string;
}

export interface BudgetState {
  kind: BudgetKind;
  used: number;
  limit: number;
  /** What people have added to it, in US dollars. */
  added: number;
}

/** What people decide about a budget. All are safe to repeat: an addition counts once. */
export interface BudgetDecisions {
  /** True if the turn is the one that asks people before the budget is used up. */
  asked(ask: Pick<BudgetAsk, "id" | "addition">, turnId: string): Promise<boolean>;
  continued(ask: BudgetAsk, by: string, at: number): Promise<void>;
  declined(ask: BudgetAsk, by: string): Promise<void>;
}

export interface UsageRow {
  /** The person's id, the channel's scope, or the model. */
  id: string;
  platform: string;
  /** Empty if unknown. */
  name: string;
  today: UsageCount;
  total: UsageCount;
}

/** Bounded: the newest days, and the subjects with the highest cost. */
export interface UsageOverview {
  today: string;
  /** Of everyone, newest first. */
  days: UsageCount[];
  people: UsageRow[];
  channels: UsageRow[];
  models: UsageRow[];
  /** False if there were too many entries to read, so older ones are missing. */
  isComplete: boolean;
}

export const usageSubject = {
  user: (platform: string, userId: string) => `user:${platform}:${userId}`,
  scope: (platform: string, scope: Scope) => `scope:${platform}:${scope}`,
  conversation: (conversationId: string) => `conversation:${conversationId}`,
  schedule: (scheduleId: string) => `schedule:${scheduleId}`,
  turn: (turnId: string) => `turn:${turnId}`,
  model: (model: string) => `model:${model}`,
  everyone: "everyone",
};

export function tokensOf(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

/** `day` is the later of the two days. */
export function summed(one: UsageCount, other: UsageCount): UsageCount {
  const estimated = (one.estimatedCalls ?? 0) + (other.estimatedCalls ?? 0);
  const resent = summedResent(one.resent, other.resent);
  return {
    day: one.day > other.day ? one.day : other.day,
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cost: one.cost + other.cost,
    unpricedCalls: one.unpricedCalls + other.unpricedCalls,
    ...(estimated === 0 ? {} : { estimatedCalls: estimated }),
    addedMs: one.addedMs + other.addedMs,
    ...(resent === undefined ? {} : { resent }),
  };
}

function summedResent(one: UsageCount["resent"], other: UsageCount["resent"]): UsageCount["resent"] {
  if (one === undefined || other === undefined) return one ?? other;
  const sum = { ...one };
  for (const [model, more] of Object.entries(other)) {
    const known = Object.hasOwn(one, model) ? one[model] : undefined;
    sum[model] = {
      calls: (known?.calls ?? 0) + more.calls,
      tokens: (known?.tokens ?? 0) + more.tokens,
      read: (known?.read ?? 0) + more.read,
      written: (known?.written ?? 0) + more.written,
    };
  }
  return sum;
}

/** US dollars of all calls of the turn with a price. Undefined if none has one. */
export function costOfTurn({ steps, brokenCost }: Pick<TurnRecord, "steps" | "brokenCost">): number | undefined {
  const costs = [...steps.map((step) => step.cost), brokenCost].filter((cost) => cost !== undefined);
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0);
}

export function payerOf(turn: TurnRecord): Payer {
  const scheduleId = scheduleOf(turn);
  return {
    ...{ platform: turn.target.platform, user: requesterOf(turn), scope: turn.scope, turnId: turn.id },
    ...(scheduleId === undefined ? {} : { scheduleId }),
    conversationId: turn.conversationId,
  };
}

/** For a message before its turn. */
export function payerOfMessage(message: InboundMessage): Payer {
  const { platform, author: user, scope, conversationId } = message;
  const scheduleId = scheduleOf({ messages: [message] });
  return { platform, user, scope, conversationId, ...(scheduleId === undefined ? {} : { scheduleId }) };
}

/** The schedule that started the turn, or the run that the turn repeats. Otherwise undefined. */
export function scheduleOf({ messages: [first] }: Pick<TurnRecord, "messages">): string | undefined {
  const [, id] = /^schedule:(?!reask-|again-|direct-)([^:]+):/.exec(first?.id ?? "") ?? [];
  return first?.scheduleId ?? id;
}
