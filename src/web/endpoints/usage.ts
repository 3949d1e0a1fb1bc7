/** People, channels, models and days with what they used, the budgets that apply, and what people think of answers. */
import type { Hono } from "hono";
import { z } from "zod";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { Ratings } from "../../ports/rating.ts";
import { tokensOf, type UsageCount, type UsageLimits, type UsageMeter, type UsageRow } from "../../ports/usage.ts";
import { reading } from "./respond.ts";

export interface UsedAmount {
  calls: number;
  tokens: number;
  /** US dollars, without calls that no price is known for. */
  cost: number;
  unpricedCalls: number;
}

export interface UsageData {
  days: (UsedAmount & { day: string })[];
  people: UsedRow[];
  channels: UsedRow[];
  models: UsedRow[];
  /** False if older entries are missing. */
  isComplete: boolean;
  limits: UsageLimits;
  /** Of the last 30 days. */
  ratings: { good: number; bad: number; recent: RatingRow[] };
}

export interface RatingRow {
  turnId: string;
  state: "good" | "bad" | "said";
  who: string;
  conversationId: string;
  at: number;
  /** The sentence itself is in memory, among the decisions of that day. */
  hasWords: boolean;
}

interface UsedRow {
  id: string;
  platform: string;
  name: string;
  today: UsedAmount;
  total: UsedAmount;
}

const maxNameCharacters = 200;
const maxRatings = 20;

export function mountUsage(
  app: Hono,
  { usage, limits, ratings }: { usage: Pick<UsageMeter, "overview">; limits: UsageLimits; ratings: Ratings },
): void {
  reading(app, "/dashboard/data/usage", z.object({}), async (): Promise<UsageData> => {
    const [overview, counts, recent] = await Promise.all([
      usage.overview(),
      ratings.counts(),
      ratings.recent(maxRatings),
    ]);
    const { days, people, channels, models, isComplete } = overview;
    return {
      ...{ isComplete, limits },
      ratings: {
        ...counts,
        recent: recent.map(({ turnId, state, by, conversationId, at, hasWords }) => ({
          ...{ turnId, state, conversationId, at, hasWords },
          who: oneLine(by.name, maxNameCharacters),
        })),
      },
      days: days.map((count) => ({ day: count.day, ...amountOf(count) })),
      people: people.map(rowOf),
      channels: channels.map(rowOf),
      models: models.map(rowOf),
    };
  });
}

function rowOf({ id, platform, name, today, total }: UsageRow): UsedRow {
  return { id, platform, name: oneLine(name, maxNameCharacters), today: amountOf(today), total: amountOf(total) };
}

function amountOf(count: UsageCount): UsedAmount {
  const { calls, cost, unpricedCalls } = count;
  return { calls, tokens: tokensOf(count), cost, unpricedCalls };
}
