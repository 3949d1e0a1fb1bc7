/** Decides which limits apply to a turn, and what is left of a budget. */
import type { Scope } from "../ports/message.ts";
import {
  type BudgetAsk,
  type BudgetKind,
  type BudgetPlace,
  type Reservation,
  tokensOf,
  type UsageLimits,
  type UsageRecord,
  usageSubject,
} from "../ports/usage.ts";

export type TokenKey = "userTokensPerDay" | "channelTokensPerDay";

/** One subject with its limits. */
export interface Watched {
  /** Of the ledger entry. */
  id: string;
  subject: string;
  /** Display name of a person; otherwise empty. Not trusted. */
  name: string;
  tokens?: { key: TokenKey; limit: number };
  dollars?: { kind: BudgetKind; limit: number };
  isDaily: boolean;
}

export const dayMs = 86_400_000;
/** From this share of a budget on, people are asked to add to it. */
const askingShare = 0.8;
/** In US dollars. Sums of binary fractions are inexact. */
const tolerance = 1e-9;

export function dailyId(day: string, subject: string): string {
  return `${day} ${subject}`;
}

/** In a DM, no limit of a channel applies. */
export function watchedFor(place: BudgetPlace, limits: UsageLimits, day: string): Watched[] {
  const { platform, scope, turnId, scheduleId } = place;
  const { id, name } = place.user;
  const { dollars } = limits;
  const daily = (subject: string) => ({ id: dailyId(day, subject), subject, isDaily: true });
  const isRun = scheduleId !== undefined && dollars.scheduleRun !== null;
  const ofTurn = usageSubject.turn(turnId ?? "");
  const all: Watched[] = [
    ...(turnId === undefined
      ? []
      : [
          {
            ...{ id: ofTurn, subject: ofTurn, name: "", isDaily: false },
            ...(isRun ? budget("scheduleRun", dollars.scheduleRun) : budget("turn", dollars.turn)),
          },
        ]),
    {
      ...daily(usageSubject.user(platform, id)),
      name,
      ...tokenLimit("userTokensPerDay", limits.userTokensPerDay),
      ...budget("user", dollars.user),
    },
    ...(isChannel(scope)
      ? [
          {
            ...daily(usageSubject.scope(platform, scope)),
            name: "",
            ...tokenLimit("channelTokensPerDay", limits.channelTokensPerDay),
            ...budget("channel", dollars.channel),
          },
        ]
      : []),
    ...(scheduleId === undefined
      ? []
      : [{ ...daily(usageSubject.schedule(scheduleId)), name: "", ...budget("schedule", dollars.schedule) }]),
  ];
  return all.filter(({ tokens, dollars: ofDollars }) => tokens !== undefined || ofDollars !== undefined);
}

function isChannel(scope: Scope): boolean {
  return scope.startsWith("channel:");
}

function tokenLimit(key: TokenKey, limit: number | null): Pick<Watched, "tokens"> {
  return limit === null ? {} : { tokens: { key, limit } };
}

function budget(kind: BudgetKind, limit: number | null): Pick<Watched, "dollars"> {
  return limit === null ? {} : { dollars: { kind, limit } };
}

/** What still applies to a call that costs nothing. */
export function withoutBudget({ dollars: _dollars, ...watched }: Watched): Watched[] {
  return watched.tokens === undefined ? [] : [watched];
}

export function emptyRecord(day: string): UsageRecord {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  return { day, calls: 0, ...usage, cost: 0, unpricedCalls: 0, addedMs: 0 };
}

/** With what people have added. */
export function budgetLimit(limit: number, { continued = [] }: UsageRecord): number {
  return continued.reduce((sum, { dollars }) => sum + dollars, limit);
}

/** Removes reservations of dead processes: those that expired, and earlier steps of the turn `turnId`. */
export function withoutLapsed(record: UsageRecord, at: number, turnId?: string): UsageRecord {
  const { held = [], ...rest } = record;
  const hasLapsed = (one: Reservation) => at >= one.expiresAt || (one.turnId === turnId && one.isAside !== true);
  const lapsed = held.filter(hasLapsed);
  if (lapsed.length === 0) return record;
  const kept = held.filter((one) => !hasLapsed(one));
  return {
    ...rest,
    ...(kept.length === 0 ? {} : { held: kept }),
    calls: record.calls + lapsed.length,
    inputTokens: lapsed.reduce((sum, { promptTokens }) => sum + promptTokens, record.inputTokens),
    cost: lapsed.reduce((sum, { promptDollars }) => sum + promptDollars, record.cost),
    estimatedCalls: (record.estimatedCalls ?? 0) + lapsed.length,
  };
}

export type Verdict =
  | { type: "fits" }
  /** Running calls may use up the rest. */
  | { type: "busy"; of: "tokens" | "dollars" }
  | { type: "used-up"; of: "tokens" | "dollars" };

/** A call fits while use and reservations are below the limit. So the limit is never exceeded by more than one call. */
export function judge(record: UsageRecord, { tokens, dollars }: Watched): Verdict {
  const { held = [] } = record;
  const usedTokens = tokensOf(record);
  const heldTokens = held.reduce((sum, one) => sum + one.tokens, 0);
  const heldDollars = held.reduce((sum, one) => sum + one.dollars, 0);
  const cap = dollars === undefined ? Number.POSITIVE_INFINITY : budgetLimit(dollars.limit, record);
  if (dollars !== undefined && record.cost >= cap - tolerance) return { type: "used-up", of: "dollars" };
  if (tokens !== undefined && usedTokens >= tokens.limit) return { type: "used-up", of: "tokens" };
  if (dollars !== undefined && record.cost + heldDollars >= cap - tolerance) return { type: "busy", of: "dollars" };
  if (tokens !== undefined && usedTokens + heldTokens >= tokens.limit) return { type: "busy", of: "tokens" };
  return { type: "fits" };
}

/** Undefined while too little of the budget is used. */
export function askFor(record: UsageRecord, watched: Watched, step: number, at: number): BudgetAsk | undefined {
  if (watched.dollars === undefined) return undefined;
  const { kind, limit: own } = watched.dollars;
  const limit = budgetLimit(own, record);
  if (record.cost < limit * askingShare - tolerance) return undefined;
  return {
    ...{ id: watched.id, kind, name: watched.name, addition: record.continued?.length ?? 0 },
    ...{ used: record.cost, limit, step },
    endsAt: watched.isDaily ? (Math.floor(at / dayMs) + 1) * dayMs : null,
  };
}

export function declinedBy({ declined, continued = [] }: UsageRecord): string | undefined {
  return declined?.addition === continued.length ? declined.by : undefined;
}

export function isAsked({ asked, continued = [] }: UsageRecord): boolean {
  return asked?.addition === continued.length;
}
