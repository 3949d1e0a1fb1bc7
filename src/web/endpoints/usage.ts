/** People, channels, models and days with what they used, and the budgets that apply. */
import type { Hono } from "hono";
import { z } from "zod";
import { oneLine } from "../../lib/text/sanitize.ts";
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
}

interface UsedRow {
  id: string;
  platform: string;
  name: string;
  today: UsedAmount;
  total: UsedAmount;
}

const maxNameCharacters = 200;

export function mountUsage(
  app: Hono,
  { usage, limits }: { usage: Pick<UsageMeter, "overview">; limits: UsageLimits },
): void {
  reading(app, "/dashboard/data/usage", z.object({}), async (): Promise<UsageData> => {
    const { days, people, channels, models, isComplete } = await usage.overview();
    return {
      ...{ isComplete, limits },
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
