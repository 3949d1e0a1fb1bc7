/** People, channels, models and days with what they used, the budgets that apply, and what people think of answers. */
import type { Hono } from "hono";
import { z } from "zod";
import { cachedShare } from "../../lib/text/format-usage.mjs";
import { oneLine } from "../../lib/text/sanitize.ts";
import type { Scope } from "../../ports/message.ts";
import type { Ratings } from "../../ports/rating.ts";
import { tokensOf, type UsageCount, type UsageLimits, type UsageMeter, type UsageRow } from "../../ports/usage.ts";
import { isOperator } from "../../ports/visitor.ts";
import { reading } from "./respond.ts";

export interface UsedAmount {
  calls: number;
  tokens: number;
  /** How much of the prompts. Null if no service says it. */
  fromCache: string | null;
  /** US dollars, without calls that no price is known for. */
  cost: number;
  unpricedCalls: number;
}

export interface UsageData {
  days: (UsedAmount & { day: string })[];
  people: UsedRow[];
  channels: UsedRow[];
  models: UsedRow[];
  /** Only operators see who and where. */
  isTotalsOnly: boolean;
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
  /** Of today, in US dollars. `limit` includes what people have added. Null without a budget, and for models. */
  budget: { used: number; limit: number } | null;
}

const maxNameCharacters = 200;
const maxRatings = 20;

export function mountUsage(
  app: Hono,
  {
    usage,
    limits,
    ratings,
  }: { usage: Pick<UsageMeter, "overview" | "budgets">; limits: UsageLimits; ratings: Ratings },
): void {
  reading(app, "/dashboard/data/usage", z.object({}), async (_input, visitor): Promise<UsageData> => {
    const seesPeople = isOperator(visitor);
    const shown = (rows: UsageRow[]) => (seesPeople ? rows : []);
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
        recent: (seesPeople ? recent : []).map(({ turnId, state, by, conversationId, at, hasWords }) => ({
          ...{ turnId, state, conversationId, at, hasWords },
          who: oneLine(by.name, maxNameCharacters),
        })),
      },
      days: days.map((count) => ({ day: count.day, ...amountOf(count) })),
      people: await Promise.all(shown(people).map(async (row) => rowOf(row, await budgetOf(usage, "user", row)))),
      channels: await Promise.all(
        shown(channels).map(async (row) => rowOf(row, await budgetOf(usage, "channel", row))),
      ),
      isTotalsOnly: !seesPeople,
      models: models.map((row) => rowOf(row, null)),
    };
  });
}

async function budgetOf(
  usage: Pick<UsageMeter, "budgets">,
  kind: "user" | "channel",
  { id, platform, name }: UsageRow,
): Promise<UsedRow["budget"]> {
  const isPerson = kind === "user";
  const scope: Scope = isPerson ? `dm:${id}` : (id as Scope);
  const all = await usage.budgets({ platform, user: { id: isPerson ? id : "", name }, scope });
  const found = all.find((budget) => budget.kind === kind);
  return found === undefined ? null : { used: found.used, limit: found.limit };
}

function rowOf({ id, platform, name, today, total }: UsageRow, budget: UsedRow["budget"]): UsedRow {
  const amounts = { today: amountOf(today), total: amountOf(total) };
  return { id, platform, name: oneLine(name, maxNameCharacters), ...amounts, budget };
}

function amountOf(count: UsageCount): UsedAmount {
  const { calls, cost, unpricedCalls } = count;
  return { calls, tokens: tokensOf(count), fromCache: cachedShare([count]) ?? null, cost, unpricedCalls };
}
