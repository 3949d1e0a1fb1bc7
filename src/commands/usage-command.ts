/**
 * `/remora usage` shows tokens, cost and budgets of the person and the conversation. Owners also see the total, and the
 * people, channels and models with the highest cost.
 */
import { toIsoDate } from "../lib/iso-date.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { cachedShare, formatDollars, tokensText } from "../lib/text/format-usage.mjs";
import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";
import type { Usage } from "../ports/provider.ts";
import type { TurnRecord } from "../ports/turn.ts";
import {
  type BudgetState,
  costOfTurn,
  summed,
  tokensOf,
  type UsageCount,
  type UsageLimits,
  type UsageMeter,
  type UsageRow,
  usageSubject,
} from "../ports/usage.ts";

export interface UsageCommandOptions {
  meter: Pick<UsageMeter, "days" | "budgets" | "overview">;
  ledger: Ledger;
  limits: UsageLimits;
  isOwner(platform: string, by: Author): boolean;
  now?: () => number;
}

interface Limited {
  tokens?: number | null;
  budget?: BudgetState | undefined;
}

const maxShownRows = 5;
const maxShownDays = 7;
const maxNameCharacters = 60;

export function usageCommand({ meter, ledger, limits, isOwner, now = Date.now }: UsageCommandOptions): CommandHandler {
  async function usageLines(
    label: string,
    subject: string,
    { tokens = null, budget }: Limited = {},
  ): Promise<string[]> {
    const days = await meter.days(subject);
    const today = days.find((count) => count.day === toIsoDate(now()));
    if (days.length === 0 && tokens === null && budget === undefined) return [];
    const ofLimit = tokens === null ? "" : `, limit ${formatNumber(tokens)} tokens a day`;
    const all = days.length > 1 ? [`  - last ${days.length} days with use: ${countText(days.reduce(summed))}`] : [];
    const ofBudget = budget === undefined ? [] : [`  - ${budgetText(budget)}`];
    const used = today === undefined ? "nothing" : countText(today);
    return [`- **${label}**, today: ${used}${ofLimit}`, ...ofBudget, ...all];
  }

  async function ownersLines(): Promise<string[]> {
    const lines = await usageLines("everyone", usageSubject.everyone);
    if (lines.length === 0) return [];
    const { days, people, channels, models } = await meter.overview();
    return [
      ...lines,
      ...(days.length < 2 ? [] : [`  - by day: ${days.slice(0, maxShownDays).map(dayText).join(", ")}`]),
      ...rowsText("most by", people),
      ...rowsText("most in", channels),
      ...rowsText("most with", models),
    ];
  }

  async function run({ platform, conversationId, scope, isBesideThreads, by }: InboundCommand): Promise<string> {
    const isChannel = scope.startsWith("channel:");
    const newest = await ledger.list("turn", { group: conversationId, order: "newest", limit: 1 });
    const budgets = await meter.budgets({ platform, user: by, scope });
    const budgetOf = (kind: BudgetState["kind"]) => budgets.find((budget) => budget.kind === kind);
    const ofUser = { tokens: limits.userTokensPerDay, budget: budgetOf("user") };
    const ofChannel = { tokens: limits.channelTokensPerDay, budget: budgetOf("channel") };
    const lines = [
      ...(await usageLines("you", usageSubject.user(platform, by.id), ofUser)),
      ...(await usageLines(
        isBesideThreads ? "the newest thread here" : "this conversation",
        usageSubject.conversation(conversationId),
      )),
      ...newest.map(({ body }) => `  - latest request: ${turnText(body)}`),
      ...(isChannel ? await usageLines("this channel", usageSubject.scope(platform, scope), ofChannel) : []),
      ...(isOwner(platform, by) ? await ownersLines() : []),
    ];
    if (lines.length === 0) return "No model calls yet.";
    return [...lines, "", "Days are in UTC. Tokens read from a model's cache count too."].join("\n");
  }

  return { usage: "usage", description: "show tokens, cost and budgets: yours, and this conversation's", run };
}

function countText(count: UsageCount): string {
  const added = Math.round(count.addedMs / Math.max(count.calls, 1));
  return `${callsText(count.calls)}, ${formatNumber(tokensOf(count))} tokens (${tokensText([count], formatNumber)}), ${costText(count)}, and Remora itself took ${added} ms per call`;
}

function costText({ cost, calls, unpricedCalls, estimatedCalls = 0 }: UsageCount): string {
  if (unpricedCalls === calls) return "cost unknown";
  const notes = [
    ...(unpricedCalls === 0 ? [] : [` plus ${counted(unpricedCalls)} of unknown cost`]),
    ...(estimatedCalls === 0 ? [] : [` (${counted(estimatedCalls)} estimated)`]),
  ];
  return `${formatDollars(cost)}${notes.join("")}`;
}

function budgetText({ used, limit, added }: BudgetState): string {
  const more = added === 0 ? "" : `, ${formatDollars(added)} of it added today`;
  return `budget: ${formatDollars(used)} of ${formatDollars(limit)} used${more}`;
}

function dayText({ day, ...count }: UsageCount): string {
  return `${day} ${costText({ day, ...count })}${shareText(count)}`;
}

function rowsText(label: string, rows: readonly UsageRow[]): string[] {
  const shown = rows.slice(0, maxShownRows).map(({ id, name, total }) => {
    return `${asCode(name || id, maxNameCharacters)} ${costText(total)}${shareText(total)}`;
  });
  return shown.length === 0 ? [] : [`  - ${label}: ${shown.join(", ")}`];
}

function shareText(usage: Usage): string {
  const share = cachedShare([usage]);
  return share === undefined ? "" : ` (${share} from the cache)`;
}

function turnText(turn: TurnRecord): string {
  const { steps } = turn;
  const usages = steps.map(({ usage }) => usage);
  const tokens = usages.reduce((sum, usage) => sum + tokensOf(usage), 0);
  const cost = costOfTurn(turn);
  const dollars = cost === undefined ? "" : `, ${formatDollars(cost)}`;
  return `${callsText(steps.length)}, ${formatNumber(tokens)} tokens (${tokensText(usages, formatNumber)})${dollars}`;
}

function callsText(calls: number): string {
  return calls === 1 ? "1 model call" : `${formatNumber(calls)} model calls`;
}

function counted(calls: number): string {
  return calls === 1 ? "1 call" : `${formatNumber(calls)} calls`;
}
